// SPDX-License-Identifier: Apache-2.0
// Norms: layer norms in place; instance norms over the grid, with sums in double over parts with
// fixed borders, then the normalized rows as operands. All are bound by memory.
#include "kernels/device/columns.cuh"
#include "kernels/device/products.cuh"
#include "kernels/linear/linear_cuda.hpp"
#include "kernels/norm/norm_cuda.cuh"
#include "kernels/sphere/sphere_launch.cuh"

namespace surrogate::kernels::sphere::cuda {
namespace {

constexpr int n_warp = 8, n_thread = 32 * n_warp;

__device__ float4 load_piece(const float* stream, int64_t index, int lane) {
    return reinterpret_cast<const float4*>(stream)[index * 32 + lane];
}

/// Processes one tile per warp; a lane has its channels of rows g and g + 8, as in `linear`.
__global__ void __launch_bounds__(n_thread) norm_kernel(const NormArgs args) {
    const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    const int t = lane % 4;
    const int64_t n_group = args.width / 8, step = int64_t{n_warp} * gridDim.x;
    const float share = 1.0F / static_cast<float>(args.n_channel);
    for (int64_t tile = int64_t{n_warp} * blockIdx.x + warp; tile < args.grid.n_tile();
         tile += step) {
        const auto sum = [&](float first, float second, bool is_square, float(&sums)[2]) {
            sums[0] = sums[1] = 0;
            for (int64_t group = 0; group < n_group; ++group) {
                const float4 v = load_piece(args.x, tile * n_group + group, lane);
                const float x[2][2] = {{v.x - first, v.y - first}, {v.z - second, v.w - second}};
#pragma unroll
                for (int i = 0; i < 2; ++i) {
                    if (8 * group + 2 * t + i >= args.n_channel) continue;
                    sums[0] += is_square ? x[0][i] * x[0][i] : x[0][i];
                    sums[1] += is_square ? x[1][i] * x[1][i] : x[1][i];
                }
            }
            sums[0] = sum_of_quad(sums[0]) * share;
            sums[1] = sum_of_quad(sums[1]) * share;
        };
        float mean[2], variance[2];
        sum(0, 0, false, mean);
        sum(mean[0], mean[1], true, variance);
        const float scale[2] = {rsqrtf(variance[0] + args.norm.eps),
                                rsqrtf(variance[1] + args.norm.eps)};
        for (int64_t group = 0; group < n_group; ++group) {
            const int64_t c = 8 * group + 2 * t;
            const float2 w = make_float2(args.norm.weight[c], args.norm.weight[c + 1]);
            const float2 b = make_float2(args.norm.bias[c], args.norm.bias[c + 1]);
            const float4 v = load_piece(args.x, tile * n_group + group, lane);
            reinterpret_cast<float4*>(args.x)[(tile * n_group + group) * 32 + lane] = make_float4(
                (v.x - mean[0]) * scale[0] * w.x + b.x, (v.y - mean[0]) * scale[0] * w.y + b.y,
                (v.z - mean[1]) * scale[1] * w.x + b.x, (v.w - mean[1]) * scale[1] * w.y + b.y);
        }
    }
}

/// Returns the sums of a double over the lanes of a warp that hold the same channels.
__device__ double sum_of_rows(double value) {
    for (int step = 4; step < 32; step *= 2) value += __shfl_xor_sync(~0U, value, step);
    return value;
}

/// Processes a ring and 8 channels per block.
__global__ void __launch_bounds__(n_thread) moments_kernel(const MomentsArgs args) {
    __shared__ double sums[n_warp][2][8];
    const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    const int g = lane / 4, t = lane % 4;
    const int64_t n_group = args.width / 8, group = blockIdx.y;
    const int64_t ring_tiles = args.grid.ring_tiles();
    const int64_t begin = ring_tiles * blockIdx.x, end = begin + ring_tiles;
    double sum[2] = {}, square[2] = {};
    for (int64_t tile = begin + warp; tile < end; tile += n_warp) {
        const int64_t lon = tile % ring_tiles * tile_rows + g;
        const float4 v = load_piece(args.x, tile * n_group + group, lane);
        const float x[2][2] = {{v.x, v.y}, {v.z, v.w}};
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            if (lon + 8 * r >= args.grid.n_lon) continue;
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                const auto value = static_cast<double>(x[r][i]);
                sum[i] += value;
                square[i] += value * value;
            }
        }
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        const double whole = sum_of_rows(sum[i]), squares = sum_of_rows(square[i]);
        if (g != 0) continue;
        sums[warp][0][2 * t + i] = whole;
        sums[warp][1][2 * t + i] = squares;
    }
    __syncthreads();
    if (threadIdx.x >= 16) return;
    const int which = static_cast<int>(threadIdx.x) / 8, c = static_cast<int>(threadIdx.x) % 8;
    double total = 0;
    for (int w = 0; w < n_warp; ++w) total += sums[w][which][c];
    if (is_lost(*args.findings)) total = static_cast<double>(as_float(0x7fc00000U));
    args.parts[(2 * int64_t{blockIdx.x} + which) * args.width + 8 * group + c] = total;
}

/// Processes 8 channels and a part of the tiles per block. It sums the parts of its channels
/// itself, in an order that depends on the rings only.
template <Operand operand>
__global__ void __launch_bounds__(n_thread) instance_norm_kernel(const InstanceNormArgs args) {
    using P = Products<operand>;
    constexpr int n_lane = n_thread / 8;  // that share the parts of a channel
    __shared__ double sums[2][n_lane][8];
    __shared__ float scale[8], shift[8];
    const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    const int t = lane % 4;
    const int64_t n_group = args.width / 8, group = blockIdx.y, n_tile = args.grid.n_tile();
    const auto c = static_cast<int>(threadIdx.x) % 8;
    const int64_t channel = 8 * group + c;
    {
        const int first = static_cast<int>(threadIdx.x) / 8;
        double sum = 0, square = 0;
        for (int64_t part = first; part < args.n_part; part += n_lane) {
            const double* of_ring = args.parts + 2 * args.places[part] * args.width + channel;
            sum += of_ring[0];
            square += of_ring[args.width];
        }
        sums[0][first][c] = sum;
        sums[1][first][c] = square;
    }
    __syncthreads();
    if (threadIdx.x < 8) {
        double sum = 0, square = 0;
        for (int i = 0; i < n_lane; ++i) {
            sum += sums[0][i][c];
            square += sums[1][i][c];
        }
        const auto n = static_cast<double>(args.n_part * args.grid.n_lon);
        const double mean = sum / n, variance = square / n - mean * mean;
        const double factor = static_cast<double>(args.weight[channel]) /
                              sqrt((variance > 0 ? variance : 0) + static_cast<double>(args.eps));
        scale[c] = static_cast<float>(factor);
        shift[c] = static_cast<float>(static_cast<double>(args.bias[channel]) - mean * factor);
        const bool is_finite = fabs(sum) <= largest_double && fabs(square) <= largest_double;
        if (!is_finite) atomicMax(&args.findings->not_finite, 1);
    }
    __syncthreads();
    const float2 a = make_float2(scale[2 * t], scale[2 * t + 1]);
    const float2 b = make_float2(shift[2 * t], shift[2 * t + 1]);
    const int64_t step = int64_t{n_warp} * gridDim.x;
    for (int64_t tile = int64_t{n_warp} * blockIdx.x + warp; tile < n_tile; tile += step) {
        const float4 v = load_piece(args.x, tile * n_group + group, lane);
        const float y[4] = {v.x * a.x + b.x, v.y * a.y + b.y, v.z * a.x + b.x, v.w * a.y + b.y};
        static_cast<typename P::Piece*>(args.to)[(tile * n_group + group) * 32 + lane] =
            P::piece(y);
    }
}

}  // namespace

void load_norms(const DeviceProperties&, Operand operand_) {
    check(allow_shared(norm_kernel, 0), "sphere norm");
    check(allow_shared(moments_kernel, 0), "sphere moments");
    with_operand(operand_, [&]<Operand operand>() {
        check(allow_shared(instance_norm_kernel<operand>, 0), "sphere instance norm");
    });
}

void norm(const DeviceProperties&, const NormArgs& args, Stream stream) {
    if (args.grid.n_ring == 0) return;
    const auto n_block = static_cast<unsigned>((args.grid.n_tile() + n_warp - 1) / n_warp);
    SURROGATE_LAUNCH(norm_kernel, n_block, n_thread, 0, stream, args);
    check_launch("sphere norm");
}

void moments(const DeviceProperties&, const MomentsArgs& args, Stream stream) {
    if (args.grid.n_ring == 0) return;
    const dim3 grid(static_cast<unsigned>(args.grid.n_ring), static_cast<unsigned>(args.width / 8));
    SURROGATE_LAUNCH(moments_kernel, grid, n_thread, 0, stream, args);
    check_launch("sphere moments");
}

void instance_norm(const DeviceProperties&, const InstanceNormArgs& args, Stream stream) {
    if (args.grid.n_ring == 0) return;
    constexpr int64_t tiles_a_warp = 4;
    const int64_t n_block =
        (args.grid.n_tile() + n_warp * tiles_a_warp - 1) / (n_warp * tiles_a_warp);
    const dim3 grid(static_cast<unsigned>(n_block), static_cast<unsigned>(args.width / 8));
    with_operand(args.operand, [&]<Operand operand>() {
        SURROGATE_LAUNCH(instance_norm_kernel<operand>, grid, n_thread, 0, stream, args);
    });
    check_launch("sphere instance norm");
}

}  // namespace surrogate::kernels::sphere::cuda
