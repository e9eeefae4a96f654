// SPDX-License-Identifier: Apache-2.0
// Blocked products of tensor cores, fused with the operations around a layer: the norm of the rows
// before it, bias and activation after it, and the layouts of the next kernel.
#include <algorithm>

#include "kernels/device/launch.cuh"
#include "kernels/device/products.cuh"
#include "kernels/linear/linear_cuda.hpp"
#include "kernels/mlp/mlp_cuda.cuh"
#include "kernels/norm/norm_cuda.cuh"

namespace surrogate::kernels::cuda {
namespace {

/// A block has 4 x 2 warps: rows x outputs.
constexpr int row_warps = 4, out_warps = 2, n_warp = row_warps * out_warps, n_thread = 32 * n_warp;
constexpr int n_group = static_cast<int>(linear_block / 8);

template <Operand operand>
struct Shape {
    using P = Products<operand>;
    using Piece = typename P::Piece;
    static constexpr int n_tile = 2;  // of 16 rows, per warp
    static constexpr int block_tiles = row_warps * n_tile;
    static constexpr int chunk_in =
        is_wide(operand) ? 32 : 64;  // inputs whose weights are loaded at once
    static constexpr int chunk_groups = chunk_in / 8;
    static constexpr int chunk_steps = chunk_in / P::step;
    static constexpr int step_groups = P::step / 8;
    static constexpr int step_bytes = P::step_vectors(n_group) * 16;
    static constexpr int chunk_bytes = chunk_steps * step_bytes;  // for the outputs of one warp
    static constexpr int slot_bytes = out_warps * chunk_bytes;
    static constexpr int weight_bytes = 2 * slot_bytes;
    static constexpr int group_bytes = block_tiles * 32 * static_cast<int>(sizeof(Piece));
    static constexpr int scale_bytes = block_tiles * 8 * 16;  // of the norm of a block's rows
};
static_assert(Shape<Operand::fp16>::block_tiles == n_warp);  // each warp prepares one tile

/// Inputs of a block's rows that are in shared memory at once, in groups of 8 channels: all inputs
/// of a layer, or equal parts of them.
struct Slab {
    int n_group = 0;
    int n_slab = 0;
};

/// Weights of a block's outputs, chunk after chunk through two slots: the next chunk is copied
/// while one is used. Every thread of the block calls next() for every chunk of every tile of
/// outputs.
template <Operand operand>
class ChunkFeed {
    using S = Shape<operand>;
    static constexpr int n_copy = S::chunk_bytes / 16 / n_thread;  // per thread and warp column
    static_assert(n_copy * n_thread * 16 == S::chunk_bytes);

public:
    __device__ ChunkFeed(unsigned char* shared, const DeviceLinear& layer)
        : shared_(shared), layer_(layer), block_(static_cast<int>(blockIdx.y) * out_warps) {
        fetch();
    }

    /// Returns the weights of the next chunk for outputs of warp column `column`.
    __device__ const uint4* next(int column) {
        wait_copies();
        __syncthreads();  // the copies of all threads are complete, and the other slot is no longer
                          // read
        const unsigned char* slot = shared_ + slot_ * S::slot_bytes + column * S::chunk_bytes;
        slot_ = 1 - slot_;
        fetch();
        return reinterpret_cast<const uint4*>(slot);
    }

private:
    __device__ void fetch() {
        const auto n_block = static_cast<int>(linear_blocks(layer_.n_out));
        const auto block_bytes = static_cast<int>(linear_block_bytes(operand, layer_.n_in));
        if (block_ >= n_block) return;
        const int own = static_cast<int>(threadIdx.x) * 16, left = block_bytes - at_ - own;
#pragma unroll
        for (int column = 0; column < out_warps; ++column) {
            if (block_ + column >= n_block) break;
            const unsigned char* from = static_cast<const unsigned char*>(layer_.layer) +
                                        int64_t{block_ + column} * block_bytes + at_ + own;
            unsigned char* to = shared_ + slot_ * S::slot_bytes + column * S::chunk_bytes + own;
#pragma unroll
            for (int i = 0; i < n_copy; ++i) {
                constexpr int stride = n_thread * 16;
                if (i * stride < left) copy_async_16(to + i * stride, from + i * stride);
            }
        }
        at_ += S::chunk_bytes;
        if (at_ < block_bytes) return;
        at_ = 0;
        block_ += static_cast<int>(gridDim.y) * out_warps;
    }

    unsigned char* shared_;
    const DeviceLinear& layer_;
    int block_;     // block of the chunk to be fetched
    int at_ = 0;    // offset in its blocks
    int slot_ = 0;  // slot of the chunk to be fetched
};

/// Mean and scale of the rows that a lane holds of a tile: g and g + 8.
struct alignas(16) RowScale {
    float mean[2], scale[2];
};

/// Loads one piece of 16 rows x 8 channels.
__device__ void load_piece(const float* stream, int64_t index, int lane, float (&x)[4]) {
    const float4 v = reinterpret_cast<const float4*>(stream)[index * 32 + lane];
    x[0] = v.x;
    x[1] = v.y;
    x[2] = v.z;
    x[3] = v.w;
}

/// Computes mean and scale. n_in_group: pieces per tile. Sums run over channels in order, then over
/// the lanes of a row.
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

/// Applies the activation, with one branch for all values instead of one per value.
template <int n_tile>
__device__ void activate(DeviceActivation activation, float (&y)[n_tile][n_group][4]) {
    switch (activation) {
        case DeviceActivation::none: return;
        case DeviceActivation::relu:
            return each(y, [](float u) { return u < 0 ? 0.0F : u; });  // a NaN stays
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

/// Inputs of a block's rows as operands in shared memory, (block_tiles, slab.n_group, 32) pieces.
/// Each warp loads the pieces of one tile.
template <Operand operand, bool reads_pieces>
struct Inputs {
    using S = Shape<operand>;
    using Piece = typename S::Piece;
    /// Mean and scale of rows g and g + 8 of all tiles, stored before the pieces.
    static constexpr int scale_bytes = reads_pieces ? 0 : S::scale_bytes;

    const LinearArgs& args;
    const Slab& slab;
    unsigned char* shared;

    __device__ int warp() const { return static_cast<int>(threadIdx.x) / 32; }
    __device__ int lane() const { return static_cast<int>(threadIdx.x) % 32; }
    __device__ int64_t tile() const {
        const int64_t tile = static_cast<int64_t>(blockIdx.x) * S::block_tiles + warp();
        return tile < args.n_tile ? tile : args.n_tile - 1;
    }
    __device__ Piece* pieces() const { return reinterpret_cast<Piece*>(shared + scale_bytes); }
    __device__ RowScale& scale() const {
        return reinterpret_cast<RowScale*>(shared)[warp() * 8 + lane() / 4];
    }

    /// Computes the scales. Call it before the first fill().
    __device__ void take_scale() const {
        if (reads_pieces || !args.norm.weight) return;
        const RowScale rows = scale_of(args, tile(), args.layer.n_in / 8, lane());
        if (lane() % 4 == 0) scale() = rows;
        __syncwarp();
    }

    /// Loads groups first_group .. of all channels.
    __device__ void fill(int first_group) const {
        const int n_in_group = args.layer.n_in / 8, n = min(slab.n_group, n_in_group - first_group);
        Piece* const to = pieces() + warp() * slab.n_group * 32;
        if constexpr (reads_pieces) {
            const auto* from =
                reinterpret_cast<const uint4*>(static_cast<const Piece*>(args.pieces) +
                                               (tile() * args.in_groups + first_group) * 32);
            for (int i = lane(); i < n * 32 * static_cast<int>(sizeof(Piece)) / 16; i += 32)
                copy_async_16(reinterpret_cast<uint4*>(to) + i, from + i);
        } else {
            const RowScale rows = args.norm.weight ? scale() : RowScale{};
            const int64_t from = tile() * n_in_group + first_group;
#pragma unroll 2
            for (int group = 0; group < n; ++group) {
                float x[4];
                load_piece(args.stream, from + group, lane(), x);
                if (args.norm.weight)
                    normalise_piece(args.norm, rows, 8 * (first_group + group) + 2 * (lane() % 4),
                                    x);
                to[group * 32 + lane()] = S::P::piece(x);
            }
        }
    }
};

/// Stores a warp's results for a tile of rows in the layout of the next pass.
template <Operand operand>
__device__ void store(const LinearArgs& args, int64_t tile, int first_group, int lane,
                      const float (&y)[n_group][4]) {
    using P = Products<operand>;
    const int n_out_group = args.layer.n_out / 8;
    // The first piece of a pair holds the result.
    const int per_group = args.activation == DeviceActivation::swiglu ? 2 : 1;
#pragma unroll
    for (int group = 0; group < n_group; ++group) {
        if (first_group + group >= n_out_group || group % per_group != 0) continue;
        const int out_group = (first_group + group) / per_group;
        const float(&v)[4] = y[group];
        if (args.to_pieces) {
            const int64_t at = tile * args.out_groups + out_group;
            static_cast<typename P::Piece*>(args.to_pieces)[at * 32 + lane] = P::piece(v);
            continue;
        }
        const int64_t at = tile * (n_out_group / per_group) + out_group;
        float4& to = reinterpret_cast<float4*>(args.to_stream)[at * 32 + lane];
        const float4 before = args.adds ? to : make_float4(0, 0, 0, 0);
        to = args.adds
                 ? make_float4(before.x + v[0], before.y + v[1], before.z + v[2], before.w + v[3])
                 : make_float4(v[0], v[1], v[2], v[3]);
    }
}

/// Processes, for the rows of a block, every gridDim.y-th tile of outputs. Inputs are normalized
/// and rounded once, and stay in shared memory if a slab holds them all.
template <Operand operand, bool reads_pieces>
__global__ void __launch_bounds__(n_thread, 2)
    linear_kernel(const LinearArgs args, const Slab slab) {
    SURROGATE_SHARED(shared);
    using S = Shape<operand>;
    using P = typename S::P;
    using Piece = typename P::Piece;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const int lane = static_cast<int>(threadIdx.x) % 32, t = lane % 4;
    const int column = warp % out_warps, row = warp / out_warps;
    const int n_out_group = args.layer.n_out / 8, n_in_group = args.layer.n_in / 8;
    const int64_t first_tile = static_cast<int64_t>(blockIdx.x) * S::block_tiles + row * S::n_tile;
    const auto* bias = reinterpret_cast<const float2*>(
        static_cast<const unsigned char*>(args.layer.layer) +
        linear_blocks(args.layer.n_out) * linear_block_bytes(operand, args.layer.n_in));

    ChunkFeed<operand> feed(shared, args.layer);
    const Inputs<operand, reads_pieces> inputs{args, slab, shared + S::weight_bytes};
    const Piece* const own = inputs.pieces() + row * S::n_tile * slab.n_group * 32 + lane;
    inputs.take_scale();
    bool is_filled = false;

    for (int block = static_cast<int>(blockIdx.y) * out_warps;
         block < static_cast<int>(linear_blocks(args.layer.n_out));
         block += static_cast<int>(gridDim.y) * out_warps) {
        // Warps without outputs repeat the work of the others, because all warps take part in
        // barriers.
        const int first_group = (block + column) * n_group;
        const bool has_outputs = first_group < n_out_group;
        float y[S::n_tile][n_group][4];
#pragma unroll
        for (int group = 0; group < n_group; ++group) {
            const float2 b = has_outputs ? bias[(first_group + group) * 4 + t] : make_float2(0, 0);
#pragma unroll
            for (int i = 0; i < S::n_tile; ++i) {
                y[i][group][0] = y[i][group][2] = b.x;
                y[i][group][1] = y[i][group][3] = b.y;
            }
        }
        for (int first = 0; first < n_in_group; first += slab.n_group) {
            if (!is_filled || slab.n_slab > 1) {
                __syncthreads();  // the previous inputs are no longer read
                inputs.fill(first);
                is_filled = true;
            }
            const int n_in_slab = min(slab.n_group, n_in_group - first);
            for (int group = 0; group < n_in_slab; group += S::chunk_groups) {
                const uint4* weights = feed.next(column);
                const int end = has_outputs ? min(group + S::chunk_groups, n_in_slab) : 0;
#pragma unroll 1  // the loads of two steps at once would not fit the registers
                for (int at = group; at < end; at += S::step_groups) {
#pragma unroll
                    for (int i = 0; i < S::n_tile; ++i) {
                        Piece x[S::step_groups];
#pragma unroll
                        for (int j = 0; j < S::step_groups; ++j)
                            x[j] = own[(i * slab.n_group + at + j) * 32];
                        P::add_step(y[i], P::step_inputs(x), weights, lane);
                    }
                    weights += P::step_vectors(n_group);
                }
            }
        }
        if (!has_outputs) continue;
        activate(args.activation, y);
#pragma unroll
        for (int i = 0; i < S::n_tile; ++i) {
            if (first_tile + i < args.n_tile)
                store<operand>(args, first_tile + i, first_group, lane, y[i]);
        }
    }
}

/// Returns slabs with which two blocks share a multiprocessor, if the smallest one fits.
template <Operand operand>
Slab slab_of(const DeviceProperties& device, int n_in) {
    using S = Shape<operand>;
    const int64_t room = device.shared_bytes / 2 - 1024 - S::weight_bytes - S::scale_bytes;
    const auto fits = static_cast<int>(room / S::group_bytes) / S::chunk_groups;
    const int n_chunk = (n_in / 8 + S::chunk_groups - 1) / S::chunk_groups;
    const int n_slab = (n_chunk + std::max(1, fits) - 1) / std::max(1, fits);
    return {(n_chunk + n_slab - 1) / n_slab * S::chunk_groups, n_slab};
}

}  // namespace

void load_linear(const DeviceProperties& device, Operand operand_) {
    with_operand(operand_, [&]<Operand operand>() {
        load_kernel(device, linear_kernel<operand, false>, "linear");
        load_kernel(device, linear_kernel<operand, true>, "linear");
    });
}

void linear(const DeviceProperties& device, const LinearArgs& args, Stream stream) {
    if (args.n_tile == 0) return;
    with_operand(args.operand, [&]<Operand operand>() {
        using S = Shape<operand>;
        const Slab slab = slab_of<operand>(device, args.layer.n_in);
        const int64_t n_block = (args.n_tile + S::block_tiles - 1) / S::block_tiles;
        const int64_t n_out = (linear_blocks(args.layer.n_out) + out_warps - 1) / out_warps;
        // If there are few rows, their outputs are distributed over more blocks: eight per
        // multiprocessor.
        const int64_t most_split = (8 * device.n_multiprocessor + n_block - 1) / n_block;
        const int64_t n_split = std::clamp<int64_t>(most_split, 1, n_out);
        const dim3 grid(static_cast<unsigned>(n_block), static_cast<unsigned>(n_split));
        const int64_t n_byte =
            S::weight_bytes + S::scale_bytes + int64_t{slab.n_group} * S::group_bytes;
        const auto launch = [&](auto kernel) {
            SURROGATE_LAUNCH(kernel, grid, n_thread, static_cast<size_t>(n_byte), stream, args,
                             slab);
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
