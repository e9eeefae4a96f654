// SPDX-License-Identifier: Apache-2.0
// From the partial sums of a pass to the latents that all ranks share. Small kernels: a row is one
// latent of one head, and a block of threads processes one row over all partials.
#include "kernels/flare/flare_gradient_cuda.hpp"
#include "kernels/flare/flare_launch.cuh"

namespace surrogate::kernels::flare::cuda {
namespace {

constexpr int row_threads = 128;
constexpr int row_warps = row_threads / 32;
constexpr float lowest = lowest_score<float>();
constexpr float largest = 3.402823466e38F;
constexpr int low_shift = 40;  // from the first integer of an exact sum to the second

__device__ bool is_poisoned(const DeviceFindings& findings) {
    return findings.poisoned != 0 || findings.bad_input != DeviceFindings::no_place;
}
__device__ int64_t n_row(const LatentArgs& args) {
    return args.shape.sizes.n_head * args.shape.sizes.n_latent;
}
__device__ const float* row_of(const LatentArgs& args, int64_t partial, int64_t row) {
    return args.partials + (partial * n_row(args) + row) * (args.shape.sizes.n_dim + 2);
}
/// Returns the flag after the maxima of the reproducible mode.
__device__ float* flag_of(const LatentArgs& args) {
    return args.maxima + n_row(args) + args.shape.sizes.n_head;
}

/// Joins the block's values by `join`, in a fixed tree; the result is on thread 0.
template <class T, class Join>
__device__ T join_block(T value, const Join& join) {
    __shared__ T of_warp[row_warps];
    for (int distance = 16; distance > 0; distance /= 2)
        value = join(value, __shfl_xor_sync(0xffffffffU, value, distance));
    __syncthreads();  // an earlier call's values have been read
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    for (int warp = 1; warp < row_warps && threadIdx.x == 0; ++warp)
        value = join(value, of_warp[warp]);
    return value;
}

/// Reproducible mode: initializes the numbers after the maxima, before rows that are not finite
/// raise the flag.
__global__ void behind_maxima_kernel(const LatentArgs args) {
    const bool poisoned = is_poisoned(*args.findings);
    for (int head = static_cast<int>(threadIdx.x); head < args.shape.sizes.n_head;
         head += row_threads)
        args.maxima[n_row(args) + head] = poisoned ? 0.0F : args.v_max[head];
    if (threadIdx.x == 0) *flag_of(args) = poisoned ? 1.0F : 0.0F;
}

__global__ void maxima_kernel(const LatentArgs args) {
    const int64_t row = blockIdx.x;
    float maximum = lowest;
    int lost = 0;
    for (int64_t p = threadIdx.x; p < args.n_partial; p += row_threads) {
        const float* from = row_of(args, p, row);
        maximum = fmaxf(maximum, from[0]);
        if (!args.v_max) continue;
        for (int64_t j = 1; j < args.shape.sizes.n_dim + 2; ++j)
            lost |= !(fabsf(from[j]) <= largest);
    }
    maximum = join_block(maximum, [](float a, float b) { return fmaxf(a, b); });
    if (threadIdx.x == 0) args.maxima[row] = is_poisoned(*args.findings) ? lowest : maximum;
    if (args.v_max && lost)  // 1.0 is above 0.0 as a bit pattern, too
        atomicMax(reinterpret_cast<int*>(flag_of(args)), static_cast<int>(as_bits(1.0F)));
}

/// Computes the sums of a row of the fast mode relative to `maximum`, by a warp. Lanes process
/// columns, and partials if there are few columns. The power of two of a partial is computed once
/// for all columns.
__device__ void store_sums(const LatentArgs& args, int64_t row, float maximum) {
    constexpr unsigned all = ~0U;
    constexpr int n_load = 4;  // at once: 32 is a multiple of n_load * n_slot
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int n_column = static_cast<int>(args.shape.sizes.n_dim) + 1;
    float* to = static_cast<float*>(args.sums) + row * n_column;
    int columns = 4;  // at once
    while (columns < n_column && columns < 32) columns *= 2;
    const int n_slot = 32 / columns, slot = lane / columns;
    for (int j = lane % columns; j - lane % columns < n_column; j += columns) {
        double sum = 0;
        for (int64_t first = 0; first < args.n_partial; first += 32) {
            const int64_t own = first + lane;
            double weight = 0;
            if (own < args.n_partial)
                weight = exp2(static_cast<double>(row_of(args, own, row)[0]) -
                              static_cast<double>(maximum));
            for (int i = 0; i < 32 && first + i < args.n_partial; i += n_load * n_slot) {
                float from[n_load];
#pragma unroll
                for (int k = 0; k < n_load; ++k) {
                    const int64_t p = first + i + k * n_slot + slot;
                    from[k] = p < args.n_partial && j < n_column ? row_of(args, p, row)[1 + j] : 0;
                }
#pragma unroll
                for (int k = 0; k < n_load; ++k)
                    sum += static_cast<double>(from[k]) *
                           __shfl_sync(all, weight, i + k * n_slot + slot);
            }
        }
        for (int distance = columns; distance < 32; distance *= 2)
            sum += __shfl_xor_sync(all, sum, distance);
        if (slot == 0 && j < n_column)
            to[j] = is_poisoned(*args.findings) ? as_float(0x7fc00000U) : static_cast<float>(sum);
    }
}

__global__ void sums_kernel(const LatentArgs args) {
    const int64_t row = int64_t{blockIdx.x} * row_warps + threadIdx.x / 32;
    if (row < n_row(args)) store_sums(args, row, args.maxima[row]);
}

/// The grid of an exact sum: libsurrogate's ExactGrid, from the same numbers.
struct Grid {
    int shift = 0;
    bool two_limbs = false, is_zero = false;

    __device__ Grid(int64_t n_term, double bound) : two_limbs(n_term > 16384), is_zero(bound == 0) {
        int log2_terms = 0, exponent = 0;
        while ((int64_t{1} << log2_terms) < n_term) ++log2_terms;
        frexp(bound, &exponent);
        shift = 62 - log2_terms - exponent;
    }
};

/// Returns the grid of column j (0: sums, then values) of a row of `head`: each term is at most the
/// number of points of a chunk times the largest |v|.
__device__ Grid grid_of(const LatentArgs& args, int64_t head, int64_t j) {
    const double v = j == 0 ? 1.0 : static_cast<double>(args.maxima[n_row(args) + head]);
    return Grid(args.n_chunk_global, static_cast<double>(chunk_points) * v);
}

__global__ void exact_sums_kernel(const LatentArgs args) {
    const int64_t row = blockIdx.x, n_dim = args.shape.sizes.n_dim;
    const auto maximum = static_cast<double>(args.maxima[row]);
    const bool lost = *flag_of(args) != 0.0F;
    int64_t* to = static_cast<int64_t*>(args.sums) + row * (n_dim + 1);
    const int64_t limb_stride = n_row(args) * (n_dim + 1);
    for (int64_t j = 0; j <= n_dim; ++j) {
        const Grid grid = grid_of(args, row / args.shape.sizes.n_latent, j);
        long long high = 0, low = 0;
        for (int64_t p = threadIdx.x; p < args.n_partial && !lost && !grid.is_zero;
             p += row_threads) {
            const float* from = row_of(args, p, row);
            const double term =
                static_cast<double>(from[1 + j]) * exp2(static_cast<double>(from[0]) - maximum);
            const double scaled = ldexp(term, grid.shift);
            const double rounded = rint(scaled);
            high += static_cast<long long>(rounded);
            low += static_cast<long long>(rint(ldexp(scaled - rounded, low_shift)));
        }
        const auto add = [](long long a, long long b) { return a + b; };
        high = join_block(high, add);
        low = join_block(low, add);
        if (threadIdx.x != 0) continue;
        to[j] = high;
        if (grid.two_limbs) to[j + limb_stride] = low;
    }
}

/// Returns one channel of one latent, before it becomes an operand.
__device__ float latent(const LatentArgs& args, int64_t head, int64_t m, int64_t d) {
    const int64_t n_dim = args.shape.sizes.n_dim;
    const int64_t row = head * args.shape.sizes.n_latent + m, first = row * (n_dim + 1);
    if (!args.v_max) {
        const float* sums = static_cast<const float*>(args.sums) + first;
        return sums[0] == 0.0F ? 0.0F : sums[1 + d] / sums[0];
    }
    if (*flag_of(args) != 0.0F) return as_float(0x7fc00000U);
    const auto value = [&](int64_t j) {
        const Grid grid = grid_of(args, head, j);
        const int64_t* sum = static_cast<const int64_t*>(args.sums) + first + j;
        if (grid.is_zero) return 0.0;
        double total = ldexp(static_cast<double>(sum[0]), -grid.shift);
        if (grid.two_limbs)
            total +=
                ldexp(static_cast<double>(sum[n_row(args) * (n_dim + 1)]), -grid.shift - low_shift);
        return total;
    };
    const double sum = value(0);
    return sum == 0 ? 0.0F : static_cast<float>(value(1 + d) / sum);
}

/// Returns a lane's piece of 16 latents x 8 channels, transposed for weigh(). index: index of the
/// piece.
template <Operand operand>
__device__ void store_piece(const LatentArgs& args, int64_t index) {
    using P = Products<operand>;
    const DeviceShape& shape = args.shape;
    const int64_t n_group = shape.head_groups();
    const int64_t lane = index % 32, n_tile = shape.latent_tiles();
    const int64_t tile = index / 32 % n_tile, group = index / 32 / n_tile % n_group;
    const int64_t head = index / 32 / n_tile / n_group, t = lane % 4;
    const int64_t d = 8 * group + lane / 4 - head * shape.n_dim_padded % 8;
    float z[4];
    for (int64_t i = 0; i < 4; ++i) {
        const int64_t m = tile * 16 + 2 * t + i % 2 + i / 2 * 8;
        const bool exists = m < shape.sizes.n_latent && d >= 0 && d < shape.sizes.n_dim;
        z[i] = exists ? latent(args, head, m, d) : 0.0F;
        if (!(fabsf(z[i]) <= largest)) atomicOr(&args.findings->not_finite, 1);
    }
    static_cast<typename P::Piece*>(args.z)[index] = P::piece(z);
}

template <Operand operand>
__global__ void latents_kernel(const LatentArgs args) {
    const int64_t index = static_cast<int64_t>(blockIdx.x) * row_threads + threadIdx.x;
    const int64_t n_piece = args.shape.all_latent_tiles() * args.shape.head_groups() * 32;
    if (index < n_piece) store_piece<operand>(args, index);
}

constexpr int tile_threads = 16 * 32;

/// Fast mode on one rank, all steps at once: a block processes 16 latents of a head, a warp one of
/// them.
template <Operand operand>
__global__ void __launch_bounds__(tile_threads) combine_kernel(const LatentArgs args) {
    const int64_t n_tile = args.shape.latent_tiles(), n_group = args.shape.head_groups();
    const int64_t head = blockIdx.x / n_tile, tile = blockIdx.x % n_tile;
    const int64_t m = tile * 16 + threadIdx.x / 32, row = head * args.shape.sizes.n_latent + m;
    if (m < args.shape.sizes.n_latent) {
        float maximum = lowest;
        for (int64_t p = threadIdx.x % 32; p < args.n_partial; p += 32)
            maximum = fmaxf(maximum, row_of(args, p, row)[0]);
        for (int distance = 16; distance > 0; distance /= 2)
            maximum = fmaxf(maximum, __shfl_xor_sync(~0U, maximum, distance));
        store_sums(args, row, maximum);
    }
    __syncthreads();  // the sums of the block's latents are complete
    for (int64_t i = threadIdx.x; i < n_group * 32; i += tile_threads)
        store_piece<operand>(args, ((head * n_group + i / 32) * n_tile + tile) * 32 + i % 32);
}

}  // namespace

void maxima(const DeviceProperties&, const LatentArgs& args, Stream stream) {
    const auto rows = static_cast<unsigned>(args.shape.sizes.n_head * args.shape.sizes.n_latent);
    if (args.v_max) {
        SURROGATE_LAUNCH(behind_maxima_kernel, 1, row_threads, 0, stream, args);
        check_launch("flare maxima");
    }
    SURROGATE_LAUNCH(maxima_kernel, rows, row_threads, 0, stream, args);
    check_launch("flare maxima");
}

void sums(const DeviceProperties&, const LatentArgs& args, Stream stream) {
    const auto rows = static_cast<unsigned>(args.shape.sizes.n_head * args.shape.sizes.n_latent);
    if (args.v_max) {
        SURROGATE_LAUNCH(exact_sums_kernel, rows, row_threads, 0, stream, args);
    } else {
        SURROGATE_LAUNCH(sums_kernel, (rows + row_warps - 1) / row_warps, row_threads, 0, stream,
                         args);
    }
    check_launch("flare sums");
}

void latents(const DeviceProperties&, const LatentArgs& args, Stream stream) {
    const int64_t n_lane = args.shape.all_latent_tiles() * args.shape.head_groups() * 32;
    const auto n_block = static_cast<unsigned>((n_lane + row_threads - 1) / row_threads);
    with_operand(args.operand, [&]<Operand operand>() {
        SURROGATE_LAUNCH(latents_kernel<operand>, n_block, row_threads, 0, stream, args);
    });
    check_launch("flare latents");
}

void combine(const DeviceProperties& device, const LatentArgs& args, Stream stream) {
    if (args.v_max) {
        maxima(device, args, stream);
        sums(device, args, stream);
        return latents(device, args, stream);
    }
    const auto n_block = static_cast<unsigned>(args.shape.all_latent_tiles());
    with_operand(args.operand, [&]<Operand operand>() {
        SURROGATE_LAUNCH(combine_kernel<operand>, n_block, tile_threads, 0, stream, args);
    });
    check_launch("flare latents");
}

namespace {

void load(const DeviceProperties& device, Operand operand_, int64_t width) {
    load_begin_and_end(device, operand_, width);
    load_encode(device, operand_, width);
    load_decode(device, operand_, width);
    const auto load_small = [](auto kernel) { check(allow_shared(kernel, 0), "flare latents"); };
    load_small(behind_maxima_kernel);
    load_small(maxima_kernel);
    load_small(sums_kernel);
    load_small(exact_sums_kernel);
    with_operand(operand_, [&]<Operand operand>() {
        load_small(latents_kernel<operand>);
        load_small(combine_kernel<operand>);
    });
}

}  // namespace

const DeviceKernels& kernels() {
    static const GradientKernels gradients = gradient_kernels();
    static const DeviceKernels table = {begin,   encode, maxima, sums, latents,
                                        combine, decode, end,    load, &gradients};
    return table;
}

DeviceTable device_table() {
    static const GradientKernels gradients = gradient_kernels_on_device();
    static const DeviceKernels table = {&OnDevice<begin>::call,   &OnDevice<encode>::call,
                                        &OnDevice<maxima>::call,  &OnDevice<sums>::call,
                                        &OnDevice<latents>::call, &OnDevice<combine>::call,
                                        &OnDevice<decode>::call,  &OnDevice<end>::call,
                                        &OnDevice<load>::call,    &gradients};
    return {"flare", sizeof table, &table};
}

}  // namespace surrogate::kernels::flare::cuda
