// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/device/products.cuh"
#include "kernels/mlp/mlp_device.hpp"

/// A chain of layers on points that stay in registers: no intermediate is stored in memory. Weights
/// are read from shared memory. All of a kernel's layers stay there if they fit; otherwise they
/// pass through two slots, and the next slice is copied while one is used.
namespace surrogate::kernels::cuda {

__device__ inline float silu(float u) {
    constexpr float log2e = 1.4426950408889634F;
    return u * fast_reciprocal(1.0F + fast_exp2(-log2e * u));
}

/// Returns GELU in its tanh form. accurate: to float's precision by 2^x and a reciprocal; else by
/// the hardware tanh, 2^-11.
template <bool accurate>
__device__ inline float gelu_tanh(float u) {
    constexpr float root = 0.7978845608028654F;  // sqrt(2 / pi)
    const float w = u * (root + root * 0.044715F * (u * u));
    if constexpr (accurate) {
        // (1 + tanh w) / 2 = 1 / (1 + e^(-2 w)). If 2^x overflows, the reciprocal is 0.
        return u * fast_reciprocal(1.0F + fast_exp2(-2 * 1.4426950408889634F * w));
    } else {
        const float half = 0.5F * u;
        return half + half * fast_tanh(w);
    }
}

/// Applies value = function(value) to all of a warp's pieces.
template <int n_tile, int n_group, class Function>
__device__ inline void each(float (&values)[n_tile][n_group][4], const Function& function) {
#pragma unroll
    for (int tile = 0; tile < n_tile; ++tile) {
#pragma unroll
        for (int group = 0; group < n_group; ++group) {
#pragma unroll
            for (int i = 0; i < 4; ++i) values[tile][group][i] = function(values[tile][group][i]);
        }
    }
}

/// Adds `from` to `to`.
template <int n_tile, int n_group>
__device__ inline void add(const float (&from)[n_tile][n_group][4],
                           float (&to)[n_tile][n_group][4]) {
#pragma unroll
    for (int tile = 0; tile < n_tile; ++tile) {
#pragma unroll
        for (int group = 0; group < n_group; ++group) {
#pragma unroll
            for (int i = 0; i < 4; ++i) to[tile][group][i] += from[tile][group][i];
        }
    }
}

/// Slices of weights in the order in which a block uses them, cyclically: all layers of `first`,
/// all of `second`, again. Every thread of the block calls next() the same number of times.
template <int slice_bytes, int slices_of_layer>
class WeightFeed {
public:
    static constexpr int slices_per_layer = slices_of_layer;

    /// shared: all slices if resident, else two. layer_bytes: stride between layers in memory.
    /// Starts the first copies and does not wait for them.
    __device__ WeightFeed(unsigned char* shared, bool resident, int64_t layer_bytes,
                          const DeviceMlp& first, const DeviceMlp& second)
        : shared_(shared),
          resident_(resident),
          layer_bytes_(layer_bytes),
          first_(static_cast<const unsigned char*>(first.layers)),
          second_(static_cast<const unsigned char*>(second.layers)),
          n_first_(first.n_layer * slices_per_layer),
          n_slice_((first.n_layer + second.n_layer) * slices_per_layer) {
        if (!resident_) {
            fetch(0, 0);
            return;
        }
        for (int slice = 0; slice < n_slice_; ++slice) fetch(slice, slice);
        wait_copies();
        __syncthreads();
    }

    /// Returns the next slice, in shared memory.
    __device__ const uint4* next() {
        const int slice = slice_;
        slice_ = slice + 1 == n_slice_ ? 0 : slice + 1;
        if (resident_) return slot(slice);
        const int used = parity_;
        parity_ ^= 1;
        wait_copies();
        __syncthreads();  // the copies of all threads are complete, and the other slot is no longer
                          // read
        fetch(slice_, parity_);
        return slot(used);
    }

    /// Waits for all copies. Call it before the block ends: no copy may arrive in shared memory
    /// after that.
    __device__ void finish() { wait_copies(); }

private:
    __device__ uint4* slot(int index) const {
        return reinterpret_cast<uint4*>(shared_ + static_cast<int64_t>(index) * slice_bytes);
    }
    __device__ void fetch(int slice, int to) const {
        const bool in_first = slice < n_first_;
        const int index = in_first ? slice : slice - n_first_;
        const unsigned char* from = (in_first ? first_ : second_) +
                                    index / slices_per_layer * layer_bytes_ +
                                    static_cast<int64_t>(index % slices_per_layer) * slice_bytes;
        for (int i = static_cast<int>(threadIdx.x); i < slice_bytes / 16;
             i += static_cast<int>(blockDim.x))
            copy_async_16(slot(to) + i, from + static_cast<int64_t>(i) * 16);
    }

    unsigned char* shared_;
    bool resident_;
    int64_t layer_bytes_;
    const unsigned char *first_, *second_;
    int n_first_, n_slice_;
    int slice_ = 0, parity_ = 0;
};

/// Computes x = chain(x) for n_tile tiles of 16 points, x (n_tile, n_group, 4) pieces of 16 x 8.
/// All threads of the block take part.
template <Operand operand, int n_tile, int n_group, class Feed>
__device__ inline void run_chain(const DeviceMlp& mlp, int64_t layer_bytes, Feed& feed,
                                 float (&x)[n_tile][n_group][4]) {
    using P = Products<operand>;
    constexpr int n_step = 8 * n_group / P::step, pieces = P::step / 8;
    const int lane = static_cast<int>(threadIdx.x) % 32, t = lane % 4;
    const auto* layer = static_cast<const unsigned char*>(mlp.layers);

    for (int l = 0; l < mlp.n_layer; ++l, layer += layer_bytes) {
        const auto* bias =
            reinterpret_cast<const float2*>(layer + layer_bytes - 8 * n_group * sizeof(float));
        float y[n_tile][n_group][4];
#pragma unroll
        for (int group = 0; group < n_group; ++group) {
            const float2 b = bias[group * 4 + t];
#pragma unroll
            for (int tile = 0; tile < n_tile; ++tile) {
                y[tile][group][0] = y[tile][group][2] = b.x;
                y[tile][group][1] = y[tile][group][3] = b.y;
            }
        }

        float rest[n_tile][n_group][4] = {};  // fp32: small terms of the sums
        const uint4* weights = nullptr;
        constexpr int steps_per_slice = n_step / Feed::slices_per_layer;
#pragma unroll
        for (int step = 0; step < n_step; ++step) {
            if (step % steps_per_slice == 0) weights = feed.next();
#pragma unroll
            for (int tile = 0; tile < n_tile; ++tile)
                P::layer_step(y[tile], rest[tile], &x[tile][step * pieces], weights, lane);
            weights += P::step_vectors(n_group);
            // Loads of later steps must stay after this one: hoisted, they would not fit in
            // registers.
            asm volatile("" ::: "memory");
        }
        if constexpr (operand == Operand::fp32) add(rest, y);

        // One branch for all values instead of one branch per value.
        const bool has_activation = l + 1 < mlp.n_layer;
        if (has_activation && mlp.activation == Activation::silu) {
            each(y, [](float u) { return silu(u); });
        } else if (has_activation) {
            each(y, [](float u) { return gelu_tanh<operand == Operand::fp32>(u); });
        }
        // 0 or 1: a product instead of a selection per value.
        const float residual = (mlp.residual_mask >> l) & 1U ? 1.0F : 0.0F;
#pragma unroll
        for (int tile = 0; tile < n_tile; ++tile) {
#pragma unroll
            for (int group = 0; group < n_group; ++group) {
#pragma unroll
                for (int i = 0; i < 4; ++i)
                    x[tile][group][i] = fmaf(residual, x[tile][group][i], y[tile][group][i]);
            }
        }
    }
}

}  // namespace surrogate::kernels::cuda
