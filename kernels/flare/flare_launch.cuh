// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "kernels/attention/softmax_cuda.cuh"
#include "kernels/base/error.hpp"
#include "kernels/device/launch.cuh"
#include "kernels/flare/flare_device.hpp"
#include "kernels/flare/flare_tiling.hpp"
#include "kernels/mlp/mlp_cuda.cuh"
#include "kernels/norm/norm_cuda.cuh"

/// Shared by the passes of FLARE: assignment of points to warps, loads and stores of pieces,
/// launches.
namespace surrogate::kernels::flare::cuda {

using namespace surrogate::kernels::cuda;

/// Constants of a pass, and this thread's indices in it.
template <Operand operand, int width_, int variant = 0>
struct Pass {
    using P = Products<operand>;
    using Piece = typename P::Piece;
    static constexpr int width = width_, n_group = width / 8;
    static constexpr Tiling tiling = tiling_of(operand, width, variant);
    static constexpr int n_tile = tiling.tiles_per_warp;  // of 16 points, per warp
    static constexpr int slice = static_cast<int>(slice_bytes(operand, width));
    static constexpr int layer_operands = static_cast<int>(layer_operand_bytes(operand, width));
    static constexpr int64_t layer = layer_bytes(operand, width);
    using Feed = WeightFeed<slice, layer_operands / slice>;

    int n_warp, warp, lane, g, t;
    __device__ Pass()
        : n_warp(static_cast<int>(blockDim.x) / 32),
          warp(static_cast<int>(threadIdx.x) / 32),
          lane(static_cast<int>(threadIdx.x) % 32),
          g(lane / 4),
          t(lane % 4) {}

    /// Returns the number of points that the block processes at a time.
    __device__ int rows() const { return n_warp * n_tile * static_cast<int>(tile_rows); }
    /// Returns the first tile of 16 points of this warp in the block that begins at `row`.
    __device__ int64_t first_tile(int64_t row) const {
        return row / tile_rows + static_cast<int64_t>(warp) * n_tile;
    }
    __device__ uint32_t mask(const DeviceShape& shape) const {
        return channel_mask(n_group, t, static_cast<int>(shape.sizes.n_dim),
                            static_cast<int>(shape.n_dim_padded),
                            static_cast<int>(shape.sizes.n_channel()));
    }
    /// Loads a tile of points from fragments; zeros beyond the last point.
    __device__ void load(const float* from, int64_t tile, int64_t n_point,
                         float (&x)[n_group][4]) const {
        const auto* pieces = reinterpret_cast<const float4*>(from) + tile * n_group * 32;
        const bool exists = tile * tile_rows < n_point;
#pragma unroll
        for (int group = 0; group < n_group; ++group) {
            const float4 v = exists ? pieces[group * 32 + lane] : make_float4(0, 0, 0, 0);
            x[group][0] = v.x;
            x[group][1] = v.y;
            x[group][2] = v.z;
            x[group][3] = v.w;
        }
    }
    __device__ void store(float* to, int64_t tile, int64_t n_point,
                          const float (&x)[n_group][4]) const {
        if (tile * tile_rows >= n_point) return;
        auto* pieces = reinterpret_cast<float4*>(to) + tile * n_group * 32;
#pragma unroll
        for (int group = 0; group < n_group; ++group)
            pieces[group * 32 + lane] =
                make_float4(x[group][0], x[group][1], x[group][2], x[group][3]);
    }
};

/// Calls body<operand, width, variant>() for the instance that matches; throws not_supported.
template <class Body>
void with_variant(Operand operand_, int64_t width_, int variant, const Body& body) {
    if (variant >= n_variant) {
        throw Error(Status::not_supported,
                    "variant " + std::to_string(variant) +
                        " of FLARE's tiling was asked for, this binary has " +
                        std::to_string(n_variant) + "; SURROGATE_FLARE_VARIANTS compiles all");
    }
    with_instance(operand_, width_, [&]<Operand operand, int width>() {
        if constexpr (n_variant > 1) {
            if (variant == 1) return body.template operator()<operand, width, 1>();
        }
        body.template operator()<operand, width, 0>();
    });
}

// Loading and launches, one file each.
void load_begin_and_end(const DeviceProperties& device, Operand operand, int64_t width);
void load_encode(const DeviceProperties& device, Operand operand, int64_t width);
void load_decode(const DeviceProperties& device, Operand operand, int64_t width);
void begin(const DeviceProperties& device, const BeginArgs& args, Stream stream);
void encode(const DeviceProperties& device, const EncodeArgs& args, Stream stream);
void maxima(const DeviceProperties& device, const LatentArgs& args, Stream stream);
void sums(const DeviceProperties& device, const LatentArgs& args, Stream stream);
void latents(const DeviceProperties& device, const LatentArgs& args, Stream stream);
void combine(const DeviceProperties& device, const LatentArgs& args, Stream stream);
void decode(const DeviceProperties& device, const DecodeArgs& args, Stream stream);
void end(const DeviceProperties& device, const EndArgs& args, Stream stream);

}  // namespace surrogate::kernels::flare::cuda
