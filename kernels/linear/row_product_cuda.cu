// SPDX-License-Identifier: Apache-2.0
// A block computes 64 x 64 results, its four warps 32 x 32 each; both sides are loaded to shared
// memory, 32 steps at a time.
#include "kernels/device/launch.cuh"
#include "kernels/device/products.cuh"
#include "kernels/linear/row_product_cuda.hpp"
#include "kernels/mlp/mlp_cuda.cuh"

namespace surrogate::kernels::cuda {
namespace {

constexpr int side = 64, depth = 32, n_thread = 128;
/// Stride of rows in shared memory: odd, so that columns are stored without bank conflicts.
constexpr int pitch = depth + 3;

__device__ float activated(Activation activation, float u) {
    if (activation == Activation::silu) return silu(u);
    if (activation == Activation::gelu_tanh) return gelu_tanh<true>(u);
    return u;
}

/// Returns f'(u), with f(u) = u s(w): f' = s + u s (1 - s) w'.
__device__ float slope(Activation activation, float u) {
    if (activation == Activation::identity) return 1.0F;
    constexpr float log2e = 1.4426950408889634F, root = 0.7978845608028654F, cubic = 0.044715F;
    float w = u, dw = 1.0F;
    if (activation == Activation::gelu_tanh) {
        w = 2 * root * u * (1.0F + cubic * (u * u));
        dw = 2 * root * (1.0F + 3 * cubic * (u * u));
    }
    const float s = fast_reciprocal(1.0F + fast_exp2(-log2e * w));
    return s + u * (s * (1.0F - s)) * dw;
}

/// Loads 64 rows and 32 steps of one side; zeros outside the matrix.
__device__ void load_side(const RowSide& from, int64_t first_row, int64_t n_row, int64_t first_step,
                          int64_t end_step, float* to) {
    const bool is_by_step = from.step_stride == 1;
    for (int i = static_cast<int>(threadIdx.x); i < side * depth; i += n_thread) {
        const int row = is_by_step ? i / depth : i % side;
        const int step = is_by_step ? i % depth : i / side;
        const int64_t r = first_row + row, s = first_step + step;
        const bool exists = r < n_row && s < end_step;
        to[row * pitch + step] =
            exists ? from.data[r * from.row_stride + s * from.step_stride] : 0.0F;
    }
}

template <Operand operand>
struct RowProduct {
    using P = Products<operand>;
    using Piece = typename P::Piece;

    const RowProductArgs& args;
    int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    int g = lane / 4, t = lane % 4;
    int row0 = warp / 2 * 32, column0 = warp % 2 * 32;  // offsets of the warp in the block

    __device__ explicit RowProduct(const RowProductArgs& a) : args(a) {}

    /// Returns 16 rows x 8 steps.
    __device__ Piece piece(const float* rows, int step) const {
        const float* upper = rows + g * pitch + step + 2 * t;
        const float* lower = upper + 8 * pitch;
        const float values[4] = {upper[0], upper[1], lower[0], lower[1]};
        return P::piece(values);
    }

    __device__ void multiply(const float* a, const float* b, float (&c)[2][4][4]) const {
#pragma unroll
        for (int step = 0; step < depth; step += 8) {
            Piece left[2], right[2];
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                left[i] = piece(a + (row0 + 16 * i) * pitch, step);
                right[i] = piece(b + (column0 + 16 * i) * pitch, step);
            }
#pragma unroll
            for (int i = 0; i < 2; ++i) {
#pragma unroll
                for (int j = 0; j < 2; ++j)
                    P::scores(c[i][2 * j], c[i][2 * j + 1], left[i], right[j]);
            }
        }
    }

    __device__ void store(int64_t part, int64_t row, int64_t column, float c) const {
        if (row >= args.n_row || column >= args.n_column) return;
        const int64_t at = row * args.n_column + column;
        if (args.bias) c += args.bias[column];
        if (args.sum) args.sum[at] = c;
        c = activated(args.slope_at ? Activation::identity : args.activation, c);
        if (args.add[0]) c += args.add[0][at];
        if (args.add[1]) c += args.add[1][at];
        if (args.result) args.result[part * args.n_row * args.n_column + at] = c;
        if (args.sloped) args.sloped[at] = c * slope(args.activation, args.slope_at[at]);
    }

    __device__ void run(float* a, float* b) const {
        const int64_t first_row = int64_t{blockIdx.x} * side;
        const int64_t first_column = int64_t{blockIdx.y} * side, part = blockIdx.z;
        const int64_t steps = args.steps_per_part == 0 ? args.n_step : args.steps_per_part;
        const int64_t end = min((part + 1) * steps, args.n_step);
        float c[2][4][4] = {};
        float row_sum = 0;
        for (int64_t step = part * steps; step < end; step += depth) {
            load_side(args.a, first_row, args.n_row, step, end, a);
            load_side(args.b, first_column, args.n_column, step, end, b);
            __syncthreads();
            multiply(a, b, c);
            if (args.row_sums && blockIdx.y == 0 && threadIdx.x < side) {
                for (int s = 0; s < depth; ++s)
                    row_sum += a[static_cast<int>(threadIdx.x) * pitch + s];
            }
            __syncthreads();
        }
        if (args.row_sums && blockIdx.y == 0 && threadIdx.x < side &&
            first_row + threadIdx.x < args.n_row)
            args.row_sums[part * args.n_row + first_row + threadIdx.x] = row_sum;
#pragma unroll
        for (int i = 0; i < 2; ++i) {
#pragma unroll
            for (int j = 0; j < 4; ++j) {
#pragma unroll
                for (int k = 0; k < 4; ++k)
                    store(part, first_row + row0 + 16 * i + g + k / 2 * 8,
                          first_column + column0 + 8 * j + 2 * t + k % 2, c[i][j][k]);
            }
        }
    }
};

template <Operand operand>
__global__ void __launch_bounds__(n_thread) row_product_kernel(const RowProductArgs args) {
    __shared__ float a[side * pitch];
    __shared__ float b[side * pitch];
    RowProduct<operand>(args).run(a, b);
}

__global__ void __launch_bounds__(n_thread) part_sums_kernel(const PartSumsArgs args) {
    const int64_t i = int64_t{blockIdx.x} * n_thread + threadIdx.x;
    if (i >= args.n) return;
    const int64_t between = args.n_between == 0 ? args.n : args.n_between;
    double sum = 0;
    for (int64_t p = 0; p < args.n_part; ++p)
        sum += static_cast<double>(args.parts[p * between + i]);
    args.to[i] += sum;
}

unsigned blocks(int64_t n, int64_t size) {
    return static_cast<unsigned>((n + size - 1) / size);
}

}  // namespace

void row_product(const DeviceProperties&, const RowProductArgs& args, Stream stream) {
    using enum Activation;
    if (args.activation != identity && args.activation != gelu_tanh && args.activation != silu)
        throw Error(Status::not_supported,
                    "unsupported activation for training on a device, expected gelu_tanh or silu");
    if (args.operand != Operand::fp32 && args.operand != Operand::tf32)
        throw Error(Status::not_supported,
                    "unsupported precision for gradients on a device, expected fp32 or tf32");
    if (args.n_row == 0 || args.n_column == 0) return;
    const dim3 grid(blocks(args.n_row, side), blocks(args.n_column, side),
                    static_cast<unsigned>(args.n_part()));
    if (grid.z == 0) return;
    if (args.operand == Operand::fp32) {
        SURROGATE_LAUNCH(row_product_kernel<Operand::fp32>, grid, n_thread, 0, stream, args);
    } else {
        SURROGATE_LAUNCH(row_product_kernel<Operand::tf32>, grid, n_thread, 0, stream, args);
    }
    check_launch("row product");
}

void part_sums(const DeviceProperties&, const PartSumsArgs& args, Stream stream) {
    if (args.n == 0 || args.n_part == 0) return;
    SURROGATE_LAUNCH(part_sums_kernel, blocks(args.n, n_thread), n_thread, 0, stream, args);
    check_launch("part sums");
}

void load_row_product(const DeviceProperties&) {
    check(allow_shared(row_product_kernel<Operand::fp32>, 0), "row product");
    check(allow_shared(row_product_kernel<Operand::tf32>, 0), "row product");
    check(allow_shared(part_sums_kernel, 0), "part sums");
}

}  // namespace surrogate::kernels::cuda
