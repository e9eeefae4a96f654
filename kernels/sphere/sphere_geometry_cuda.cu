// SPDX-License-Identifier: Apache-2.0
// Geometry of both convolutions: from the caller's columns to the internal grid and back. All
// columns of an output row share a list, so that a warp reads one weight for 32 contiguous points.
#include "kernels/device/columns.cuh"
#include "kernels/device/items.cuh"
#include "kernels/linear/linear_cuda.hpp"
#include "kernels/sphere/sphere_launch.cuh"

namespace surrogate::kernels::sphere::cuda {
namespace {

constexpr int n_thread = item_threads, n_warp = n_thread / 32;
constexpr int n_together = 4;  // channels per read of a weight

/// Returns the number of chunks of 32 columns of a row.
__host__ __device__ constexpr int64_t chunks_of(int64_t n_column) {
    return (n_column + 31) / 32;
}

/// Reads columns. Threads of whole warps process all columns and count the findings together.
__global__ void __launch_bounds__(n_thread) read_kernel(const ReadArgs args) {
    const int64_t n_whole = (args.n_point + 31) / 32 * 32;
    for (int64_t i = first_item(); i < n_whole; i += item_step()) {
        const bool exists = i < args.n_point;
        const int64_t point = exists ? args.points[i] : 0;
        for (int64_t c = 0; c < args.n_column; ++c) {
            uint64_t above = 0, below = 0;
            float input = 0;
            if (exists) input = read_column(args.columns[c], point, c, args.findings, above, below);
            count_outside(above, below, args.outside, static_cast<int>(c));
            if (exists) args.to[c * args.n_point + i] = input;
        }
    }
}

/// Adds to sums[i] the terms of list `list` for channel i * channel_step of x, at column u.
__device__ void add_list(const DeviceStencil& stencil, int64_t list, int u, const float* x,
                         int64_t channel_step, int n_channel, float (&sums)[n_together]) {
    const int n_column = stencil.n_column, n_phase = stencil.n_phase_in;
    const int64_t n_lon = int64_t{n_column} * n_phase;
    for (int64_t s = stencil.begin[list]; s < stencil.begin[list + 1]; ++s) {
        const DeviceStrip strip = stencil.strips[s];
        const float* weights = stencil.values + strip.value;
        const float* row = x + strip.row / n_phase * n_lon + strip.row % n_phase;
        int column = u + strip.first;
        if (column >= n_column) column -= n_column;
        for (int i = 0; i < strip.count; ++i) {
            const float weight = weights[i];
            const int64_t at = int64_t{column} * n_phase;
#pragma unroll
            for (int c = 0; c < n_together; ++c)
                if (c < n_channel) sums[c] = fmaf(weight, row[c * channel_step + at], sums[c]);
            if (++column == n_column) column = 0;
        }
    }
}

/// Processes 32 rows of a ring per block; its warps share the basis functions.
__global__ void __launch_bounds__(n_thread) gather_kernel(const GatherArgs args) {
    const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    const int64_t n_row = args.grid.ring_tiles() * tile_rows, n_chunk = chunks_of(n_row);
    const int64_t ring = blockIdx.x / n_chunk, u = blockIdx.x % n_chunk * 32 + lane;
    if (u >= n_row) return;
    const bool exists = u < args.grid.n_lon;
    const int64_t row = args.grid.row(ring, u), n_basis = args.stencil.n_basis;
    const auto put = [&](int64_t channel, float value) {
        args.to[fragment_index(row, channel, args.width)] = value;
    };
    for (int64_t k = warp; k < n_basis; k += n_warp) {
        for (int64_t first = 0; first < args.n_channel; first += n_together) {
            const auto n = static_cast<int>(min(int64_t{n_together}, args.n_channel - first));
            float sums[n_together] = {};
            if (exists)
                add_list(args.stencil, ring * n_basis + k, static_cast<int>(u),
                         args.x + first * args.n_in_point, args.n_in_point, n, sums);
#pragma unroll
            for (int c = 0; c < n_together; ++c)
                if (c < n) put((first + c) * n_basis + k, sums[c]);
        }
    }
    for (int64_t c = args.n_channel * n_basis + warp; c < args.width; c += n_warp) put(c, 0.0F);
}

__device__ float activated(DeviceActivation activation, float u) {
    switch (activation) {
        case DeviceActivation::relu: return u < 0 ? 0.0F : u;  // a NaN stays
        case DeviceActivation::gelu: return 0.5F * u * (1.0F + erff(u * 0.70710678F));
        default: return u;
    }
}

/// Processes 32 rows of a ring and 32 channels per block, four channels per warp.
__global__ void __launch_bounds__(n_thread) mix_kernel(const MixArgs args) {
    const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    const int64_t n_row = args.grid.ring_tiles() * tile_rows, n_chunk = chunks_of(n_row);
    const int64_t ring = blockIdx.x / n_chunk, u = blockIdx.x % n_chunk * 32 + lane;
    const int64_t first = (int64_t{blockIdx.y} * n_warp + warp) * n_together;
    if (u >= n_row || first >= args.width) return;
    const int64_t n_basis = args.stencil.n_basis, n_point = args.n_in_point;
    const auto n =
        static_cast<int>(max(int64_t{0}, min(int64_t{n_together}, args.n_channel - first)));
    float y[n_together] = {};
    for (int64_t k = 0; u < args.grid.n_lon && k < n_basis; ++k) {
        float sums[n_together] = {};
        add_list(args.stencil, ring * n_basis + k, static_cast<int>(u), args.x + first * n_point,
                 n_point, n, sums);
#pragma unroll
        for (int c = 0; c < n_together; ++c)
            if (c < n) y[c] = fmaf(args.weight[(first + c) * n_basis + k], sums[c], y[c]);
    }
#pragma unroll
    for (int c = 0; c < n_together; ++c)
        args.to[fragment_index(args.grid.row(ring, u), first + c, args.width)] =
            activated(args.activation, y[c]);
}

__global__ void __launch_bounds__(n_thread) copy_kernel(const CopyArgs args) {
    for (int64_t i = first_item(); i < args.n / 4; i += item_step())
        reinterpret_cast<float4*>(args.to)[i] = reinterpret_cast<const float4*>(args.from)[i];
}

__global__ void __launch_bounds__(n_thread) rings_kernel(const RingsArgs args) {
    constexpr uint32_t lost_word = ~uint32_t{0};
    const bool lost = args.gives && is_lost(*args.findings);
    const int64_t n = args.n_ring * args.n_run * args.n_word;
    for (int64_t i = first_item(); i < n; i += item_step()) {
        const int64_t word = i % args.n_word, run = i / args.n_word % args.n_run;
        const int64_t ring = i / args.n_word / args.n_run;
        const int64_t from = args.from_rings ? args.from_rings[ring] : ring;
        const int64_t to = args.to_rings ? args.to_rings[ring] : ring;
        const uint32_t value =
            lost ? lost_word : args.from[from * args.from_ring + run * args.from_run + word];
        if (args.takes && value == lost_word) atomicMax(&args.findings->not_finite, 1);
        args.to[to * args.to_ring + run * args.to_run + word] = value;
    }
}

/// Processes 8 channels of a tile per warp.
__global__ void __launch_bounds__(n_thread) planes_kernel(const PlanesArgs args) {
    const int lane = static_cast<int>(threadIdx.x) % 32, g = lane / 4, t = lane % 4;
    const int64_t n_used = (args.n_channel + 7) / 8, ring_tiles = args.grid.ring_tiles();
    const int64_t n_item = args.grid.n_tile() * n_used, n_point = args.grid.n_point();
    for (int64_t item = first_item() / 32; item < n_item; item += item_step() / 32) {
        const int64_t tile = item / n_used, group = item % n_used;
        const float4 v =
            reinterpret_cast<const float4*>(args.x)[(tile * (args.width / 8) + group) * 32 + lane];
        const float x[4] = {v.x, v.y, v.z, v.w};
        const int64_t ring = tile / ring_tiles, first = tile % ring_tiles * tile_rows + g;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int64_t lon = first + i / 2 * 8, c = 8 * group + 2 * t + i % 2;
            if (lon < args.grid.n_lon && c < args.n_channel)
                args.to[c * n_point + ring * args.grid.n_lon + lon] = x[i];
        }
    }
}

/// Processes 32 columns of a phase of an output row per block; its warps share the basis functions,
/// and their sums are joined in order.
__global__ void __launch_bounds__(n_thread) write_kernel(const WriteArgs args) {
    __shared__ float parts[n_warp][n_together][32];
    const DeviceStencil& stencil = args.stencil;
    const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    const int64_t n_chunk = chunks_of(stencil.n_column), n_phase = stencil.n_phase_out;
    const int64_t list = blockIdx.x / n_chunk;  // of the first basis function: row and phase
    const int64_t u = blockIdx.x % n_chunk * 32 + lane;
    const bool exists = u < stencil.n_column;
    const int64_t n_lon = stencil.n_column * n_phase, n_basis = stencil.n_basis;
    const int64_t place = list / n_phase * n_lon + u * n_phase + list % n_phase;
    const bool lost = is_lost(*args.findings);
    for (int64_t first = 0; first < args.n_column; first += n_together) {
        const auto n = static_cast<int>(min(int64_t{n_together}, args.n_column - first));
        float sums[n_together] = {};
        for (int64_t k = warp; exists && k < n_basis; k += n_warp)
            add_list(stencil, list * n_basis + k, static_cast<int>(u),
                     args.t + (first * n_basis + k) * args.n_in_point, n_basis * args.n_in_point, n,
                     sums);
#pragma unroll
        for (int c = 0; c < n_together; ++c) parts[warp][c][lane] = sums[c];
        __syncthreads();
        if (warp < n && exists) {
            float y = 0;
            for (int w = 0; w < n_warp; ++w) y += parts[w][warp][lane];
            const int64_t c = first + warp;
            const int64_t at = c * args.n_row * n_lon + place;
            if (args.added) y += args.added[at];
            if (args.bias) y += args.bias[c];
            if (args.to) {
                args.to[at] = y;
            } else {
                write_column(args.columns[c], args.points[place], c, y, lost, args.findings);
            }
        }
        __syncthreads();
    }
}

}  // namespace

void load_geometry(const DeviceProperties&) {
    const auto load = [](auto kernel) { check(allow_shared(kernel, 0), "sphere geometry"); };
    load(read_kernel);
    load(gather_kernel);
    load(mix_kernel);
    load(copy_kernel);
    load(rings_kernel);
    load(planes_kernel);
    load(write_kernel);
}

void read(const DeviceProperties&, const ReadArgs& args, Stream stream) {
    if (args.n_point == 0) return;
    SURROGATE_LAUNCH(read_kernel, item_blocks(args.n_point), n_thread, 0, stream, args);
    check_launch("sphere read");
}

void gather(const DeviceProperties&, const GatherArgs& args, Stream stream) {
    if (args.grid.n_ring == 0) return;
    const int64_t n_block = args.grid.n_ring * chunks_of(args.grid.ring_tiles() * tile_rows);
    SURROGATE_LAUNCH(gather_kernel, static_cast<unsigned>(n_block), n_thread, 0, stream, args);
    check_launch("sphere gather");
}

void mix(const DeviceProperties&, const MixArgs& args, Stream stream) {
    if (args.grid.n_ring == 0) return;
    constexpr int64_t block_channels = n_warp * n_together;
    const int64_t n_block = args.grid.n_ring * chunks_of(args.grid.ring_tiles() * tile_rows);
    const dim3 grid(static_cast<unsigned>(n_block),
                    static_cast<unsigned>((args.width + block_channels - 1) / block_channels));
    SURROGATE_LAUNCH(mix_kernel, grid, n_thread, 0, stream, args);
    check_launch("sphere mix");
}

void copy(const DeviceProperties&, const CopyArgs& args, Stream stream) {
    if (args.n == 0) return;
    SURROGATE_LAUNCH(copy_kernel, item_blocks(args.n / 4), n_thread, 0, stream, args);
    check_launch("sphere copy");
}

void rings(const DeviceProperties&, const RingsArgs& args, Stream stream) {
    const int64_t n = args.n_ring * args.n_run * args.n_word;
    if (n == 0) return;
    SURROGATE_LAUNCH(rings_kernel, item_blocks(n), n_thread, 0, stream, args);
    check_launch("sphere rings");
}

void planes(const DeviceProperties&, const PlanesArgs& args, Stream stream) {
    if (args.grid.n_ring == 0) return;
    const int64_t n_item = args.grid.n_tile() * ((args.n_channel + 7) / 8);
    SURROGATE_LAUNCH(planes_kernel, item_blocks(32 * n_item), n_thread, 0, stream, args);
    check_launch("sphere planes");
}

void write(const DeviceProperties&, const WriteArgs& args, Stream stream) {
    if (args.n_row == 0) return;
    const int64_t n_block =
        int64_t{args.n_row} * args.stencil.n_phase_out * chunks_of(args.stencil.n_column);
    SURROGATE_LAUNCH(write_kernel, static_cast<unsigned>(n_block), n_thread, 0, stream, args);
    check_launch("sphere write");
}

namespace {

void load(const DeviceProperties& device, Operand operand) {
    load_geometry(device);
    load_norms(device, operand);
    load_linear(device, operand);
    load_attention(device, operand);
}

}  // namespace

const DeviceKernels& kernels() {
    static const DeviceKernels table = {
        read,   gather,  mix,           copy,   surrogate::kernels::cuda::linear,
        norm,   moments, instance_norm, attend, rings,
        planes, write,   load};
    return table;
}

DeviceTable device_table() {
    static const DeviceKernels table = {&OnDevice<read>::call,
                                        &OnDevice<gather>::call,
                                        &OnDevice<mix>::call,
                                        &OnDevice<copy>::call,
                                        &OnDevice<surrogate::kernels::cuda::linear>::call,
                                        &OnDevice<norm>::call,
                                        &OnDevice<moments>::call,
                                        &OnDevice<instance_norm>::call,
                                        &OnDevice<attend>::call,
                                        &OnDevice<rings>::call,
                                        &OnDevice<planes>::call,
                                        &OnDevice<write>::call,
                                        &OnDevice<load>::call};
    return {"sphere", sizeof table, &table};
}

}  // namespace surrogate::kernels::sphere::cuda
