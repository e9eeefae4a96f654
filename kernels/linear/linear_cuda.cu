// SPDX-License-Identifier: Apache-2.0
// Blocked products of tensor cores with what surrounds a layer fused: the norm of the rows before
// it, bias and activation behind it, and the layouts that the next kernel reads.
#include "kernels/device/launch.cuh"
#include "kernels/device/products.cuh"
#include "kernels/linear/linear_cuda.hpp"
#include "kernels/mlp/mlp_cuda.cuh"
#include "kernels/norm/norm_cuda.cuh"

namespace surrogate::kernels::cuda {
namespace {

/// A block has 4 x 2 warps: rows x outputs.
constexpr int row_warps = 4, out_warps = 2, n_thread = 32 * row_warps * out_warps;
constexpr int n_group = static_cast<int>(linear_block / 8);

template <Operand operand>
struct Shape {
    using P = Products<operand>;
    static constexpr int n_tile = 2;                        // of 16 rows, a warp
    static constexpr int block_tiles = row_warps * n_tile;  // of a block
    static constexpr int chunk_in =
        is_wide(operand) ? 32 : 64;  // inputs whose weights come at once
    static constexpr int chunk_steps = chunk_in / P::step;
    static constexpr int step_groups = P::step / 8;
    static constexpr int step_bytes = P::step_vectors(n_group) * 16;
    static constexpr int chunk_bytes = chunk_steps * step_bytes;  // of one warp's outputs
    static constexpr int slot_bytes = out_warps * chunk_bytes;
    static constexpr int shared_bytes = 2 * slot_bytes;
};

/// Weights of a block's outputs, chunk after chunk through two slots: the next one on its way while
/// one is used. Every thread of the block calls next() for every chunk.
template <Operand operand>
class ChunkFeed {
    using S = Shape<operand>;

public:
    __device__ ChunkFeed(unsigned char* shared, const DeviceLinear& layer, int first_block)
        : shared_(shared),
          weights_(static_cast<const unsigned char*>(layer.layer)),
          block_bytes_(linear_block_bytes(operand, layer.n_in)),
          n_out_block_(static_cast<int>(linear_blocks(layer.n_out))),
          first_block_(first_block),
          n_step_(layer.n_in / S::P::step) {
        fetch(0);
    }

    /// The weights of chunk `chunk` for outputs of warp column `column`.
    __device__ const uint4* next(int chunk, int column) {
        wait_copies();
        __syncthreads();  // the copies of all threads are there, and nobody reads the other slot
        fetch(chunk + 1);
        return reinterpret_cast<const uint4*>(slot(chunk) + column * S::chunk_bytes);
    }

private:
    __device__ unsigned char* slot(int chunk) const { return shared_ + chunk % 2 * S::slot_bytes; }
    __device__ void fetch(int chunk) const {
        const int first_step = chunk * S::chunk_steps;
        if (first_step >= n_step_) return;
        const int steps = min(S::chunk_steps, n_step_ - first_step);
        const int n_vector = steps * S::step_bytes / 16;
#pragma unroll
        for (int column = 0; column < out_warps; ++column) {
            if (first_block_ + column >= n_out_block_) continue;
            const unsigned char* from = weights_ + (first_block_ + column) * block_bytes_ +
                                        static_cast<int64_t>(first_step) * S::step_bytes;
            unsigned char* to = slot(chunk) + column * S::chunk_bytes;
            for (int i = static_cast<int>(threadIdx.x); i < n_vector; i += n_thread)
                copy_async_16(to + i * 16, from + static_cast<int64_t>(i) * 16);
        }
    }

    unsigned char* shared_;
    const unsigned char* weights_;
    int64_t block_bytes_;
    int n_out_block_, first_block_, n_step_;
};

/// Mean and scale of the rows that a lane holds of a tile: g and g + 8.
struct RowScale {
    float mean[2], scale[2];
};

/// One piece of 16 rows x 8 channels.
__device__ void load_piece(const float* stream, int64_t index, int lane, float (&x)[4]) {
    const float4 v = reinterpret_cast<const float4*>(stream)[index * 32 + lane];
    x[0] = v.x;
    x[1] = v.y;
    x[2] = v.z;
    x[3] = v.w;
}

/// n_in_group: pieces of a tile. Sums run over channels in order, then over the lanes of a row.
__device__ RowScale scale_of(const LinearArgs& args, int64_t tile, int n_in_group, int lane) {
    const int t = lane % 4;
    RowScale rows{{0, 0}, {1, 1}};
    if (!args.norm.weight) return rows;
    const float share = 1.0F / static_cast<float>(args.n_norm);
    const auto sum = [&](const auto& add) {
        float sums[2] = {};
        for (int group = 0; group < n_in_group; ++group) {
            float x[4];
            load_piece(args.stream, tile * n_in_group + group, lane, x);
#pragma unroll
            for (int i = 0; i < 4; ++i)
                if (8 * group + 2 * t + i % 2 < args.n_norm) sums[i / 2] += add(x[i], i / 2);
        }
        sums[0] = sum_of_quad(sums[0]) * share;
        sums[1] = sum_of_quad(sums[1]) * share;
        return make_float2(sums[0], sums[1]);
    };
    if (args.norm.kind == NormKind::layer) {
        const float2 mean = sum([](float x, int) { return x; });
        rows.mean[0] = mean.x;
        rows.mean[1] = mean.y;
    }
    const float2 variance = sum([&](float x, int row) {
        const float d = x - rows.mean[row];
        return d * d;
    });
    rows.scale[0] = rsqrtf(variance.x + args.norm.eps);
    rows.scale[1] = rsqrtf(variance.y + args.norm.eps);
    return rows;
}

__device__ void normalise_piece(const DeviceNorm& norm, const RowScale& rows, int channel,
                                float (&x)[4]) {
    const float2 weight = *reinterpret_cast<const float2*>(norm.weight + channel);
    float2 bias = make_float2(0, 0);
    if (norm.bias) bias = *reinterpret_cast<const float2*>(norm.bias + channel);
#pragma unroll
    for (int row = 0; row < 2; ++row) {
        const float mean = rows.mean[row], scale = rows.scale[row];
        x[2 * row] = (x[2 * row] - mean) * scale * weight.x + bias.x;
        x[2 * row + 1] = (x[2 * row + 1] - mean) * scale * weight.y + bias.y;
    }
}

/// One branch for all values, not one for each.
template <int n_tile>
__device__ void activate(DeviceActivation activation, float (&y)[n_tile][n_group][4]) {
    switch (activation) {
        case DeviceActivation::none: return;
        case DeviceActivation::relu:
            return each(y, [](float u) { return u < 0 ? 0.0F : u; });  // NaN stays
        case DeviceActivation::gelu:
            return each(y, [](float u) { return 0.5F * u * (1.0F + erff(u * 0.70710678F)); });
        case DeviceActivation::swiglu:
#pragma unroll
            for (int i = 0; i < n_tile; ++i) {
#pragma unroll
                for (int group = 0; group < n_group; group += 2) {
#pragma unroll
                    for (int k = 0; k < 4; ++k) {
                        const float a = y[i][group][k];
                        y[i][group][k] = a / (1.0F + expf(-a)) * y[i][group + 1][k];
                    }
                }
            }
            return;
    }
}

template <Operand operand, bool reads_pieces>
__global__ void __launch_bounds__(n_thread) linear_kernel(const LinearArgs args) {
    SURROGATE_SHARED(shared);
    using S = Shape<operand>;
    using P = typename S::P;
    using Piece = typename P::Piece;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const int lane = static_cast<int>(threadIdx.x) % 32, t = lane % 4;
    const int column = warp % out_warps;
    const int first_block = static_cast<int>(blockIdx.y) * out_warps;
    const int first_group = (first_block + column) * n_group;
    const int n_in_group = args.layer.n_in / 8, n_out_group = args.layer.n_out / 8;
    const int n_step = args.layer.n_in / P::step;
    const int64_t first_tile =
        static_cast<int64_t>(blockIdx.x) * S::block_tiles + warp / out_warps * S::n_tile;
    ChunkFeed<operand> feed(shared, args.layer, first_block);

    // Warps without rows or outputs go along with the others: all meet at barriers.
    const bool has_outputs = first_group < n_out_group;
    int64_t tiles[S::n_tile];
    RowScale rows[S::n_tile];
    float y[S::n_tile][n_group][4];
    const auto* bias = reinterpret_cast<const float2*>(
        static_cast<const unsigned char*>(args.layer.layer) +
        linear_blocks(args.layer.n_out) * linear_block_bytes(operand, args.layer.n_in));
#pragma unroll
    for (int i = 0; i < S::n_tile; ++i) {
        tiles[i] = first_tile + i < args.n_tile ? first_tile + i : args.n_tile - 1;
        if constexpr (!reads_pieces) rows[i] = scale_of(args, tiles[i], n_in_group, lane);
#pragma unroll
        for (int group = 0; group < n_group; ++group) {
            const float2 b = has_outputs ? bias[(first_group + group) * 4 + t] : make_float2(0, 0);
            y[i][group][0] = y[i][group][2] = b.x;
            y[i][group][1] = y[i][group][3] = b.y;
        }
    }

    for (int chunk = 0; chunk * S::chunk_steps < n_step; ++chunk) {
        const uint4* weights = feed.next(chunk, column);
        const int end = min(S::chunk_steps, n_step - chunk * S::chunk_steps);
        for (int step = 0; step < end && has_outputs; ++step) {
            const int group = (chunk * S::chunk_steps + step) * S::step_groups;
#pragma unroll
            for (int i = 0; i < S::n_tile; ++i) {
                if constexpr (reads_pieces) {
                    Piece x[S::step_groups];
#pragma unroll
                    for (int j = 0; j < S::step_groups; ++j)
                        x[j] = static_cast<const Piece*>(
                            args.pieces)[(tiles[i] * args.in_groups + group + j) * 32 + lane];
                    P::add_step(y[i], P::step_inputs(x), weights, lane);
                } else {
                    float x[S::step_groups][4];
#pragma unroll
                    for (int j = 0; j < S::step_groups; ++j) {
                        load_piece(args.stream, tiles[i] * n_in_group + group + j, lane, x[j]);
                        if (args.norm.weight)
                            normalise_piece(args.norm, rows[i], 8 * (group + j) + 2 * t, x[j]);
                    }
                    P::add_step(y[i], P::step_inputs(x), weights, lane);
                }
            }
            weights += P::step_vectors(n_group);
        }
    }

    activate(args.activation, y);
    // Of pairs the first holds what comes out.
    const int per_group = args.activation == DeviceActivation::swiglu ? 2 : 1;
#pragma unroll
    for (int i = 0; i < S::n_tile; ++i) {
        if (first_tile + i >= args.n_tile) continue;
#pragma unroll
        for (int group = 0; group < n_group; ++group) {
            if (first_group + group >= n_out_group || group % per_group != 0) continue;
            const int out_group = (first_group + group) / per_group;
            const float(&v)[4] = y[i][group];
            if (args.to_pieces) {
                const int64_t at = tiles[i] * args.out_groups + out_group;
                static_cast<Piece*>(args.to_pieces)[at * 32 + lane] = P::piece(v);
                continue;
            }
            const int64_t at = tiles[i] * (n_out_group / per_group) + out_group;
            float4& to = reinterpret_cast<float4*>(args.to_stream)[at * 32 + lane];
            if (args.adds) {
                const float4 before = to;
                to =
                    make_float4(before.x + v[0], before.y + v[1], before.z + v[2], before.w + v[3]);
            } else {
                to = make_float4(v[0], v[1], v[2], v[3]);
            }
        }
    }
}

}  // namespace

void load_linear(const DeviceProperties& device, Operand operand_) {
    with_operand(operand_, [&]<Operand operand>() {
        load_kernel(device, linear_kernel<operand, false>, "linear");
        load_kernel(device, linear_kernel<operand, true>, "linear");
    });
}

void linear(const DeviceProperties&, const LinearArgs& args, Stream stream) {
    if (args.n_tile == 0) return;
    with_operand(args.operand, [&]<Operand operand>() {
        using S = Shape<operand>;
        const dim3 grid(
            static_cast<unsigned>((args.n_tile + S::block_tiles - 1) / S::block_tiles),
            static_cast<unsigned>((linear_blocks(args.layer.n_out) + out_warps - 1) / out_warps));
        const auto launch = [&](auto kernel) {
            SURROGATE_LAUNCH(kernel, grid, n_thread, static_cast<size_t>(S::shared_bytes), stream,
                             args);
        };
        if (args.pieces) {
            launch(linear_kernel<operand, true>);
        } else {
            launch(linear_kernel<operand, false>);
        }
    });
    check_launch("linear");
}

}  // namespace surrogate::kernels::cuda
