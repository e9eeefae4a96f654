// SPDX-License-Identifier: Apache-2.0
// An affine layer with everything that may follow it while the sums are in registers, compiled once
// per vector level.
#if defined(SURROGATE_LINEAR_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SURROGATE_LINEAR_INL_H_
#undef SURROGATE_LINEAR_INL_H_
#else
#define SURROGATE_LINEAR_INL_H_
#endif

#include <algorithm>

#include "kernels/activation/activation-inl.h"
#include "kernels/linear/linear.hpp"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::HWY_NAMESPACE {

/// What multiplies the input: element (r, c) lies at data[r * row + c * column], so that weights are
/// read as PyTorch stores them or transposed. Sums start at bias (n_row), or at 0 where it is null.
struct Matrix {
    const float* data;
    int64_t n_row, n_column;
    int64_t row, column;
    const float* bias;
};

inline Matrix matrix_of(const Linear<float>& layer) {
    return {layer.weight, layer.n_out, layer.n_in, layer.n_in, 1, layer.bias};
}

/// y = f(W x + b) [factor] [+ residual] [+ before], in this order; a null addend is none, and `factor`
/// is read by layers that are gated. Factor and addends may be y itself. W x + b is kept in `sum` if
/// that is not null.
struct Epilogue {
    Activation activation = Activation::identity;
    Tile<const float> residual{};
    Tile<const float> before{};
    Tile<float> sum{};
    Tile<const float> factor{};
};

template <class T>
HWY_INLINE T* row(Tile<T> tile, int64_t channel, int64_t point) {
    return tile.data ? tile.data + channel * tile.stride[0] + point : nullptr;
}

/// Register block: n_row outputs x n_vector vectors of points. Weights are broadcast from where they
/// lie.
template <Activation activation, bool is_gated, int n_row, int n_vector>
HWY_INLINE void linear_block(const Matrix& matrix, Tile<const float> x, const Epilogue& epilogue,
                             Tile<float> y, int64_t o, int64_t i) {
    Vector sum[n_row][n_vector];
#pragma GCC unroll 8
    for (int r = 0; r < n_row; ++r) {
        const Vector bias = broadcast(matrix.bias ? matrix.bias[o + r] : 0.0f);
#pragma GCC unroll 4
        for (int j = 0; j < n_vector; ++j) sum[r][j] = bias;
    }
    // (n_row, n_column), reached from two moving pointers: the compiler would keep one a row, and the
    // stack in the loop.
    const float* weight = matrix.data + o * matrix.row;
    const float* weight_3 = weight + (n_row > 3 ? 3 * matrix.row : 0);
    const float* point = x.data + i;
#pragma GCC unroll 2  // fewer instructions a multiply-add: counts where two threads share a core
    for (int64_t c = 0; c < matrix.n_column; ++c) {
        asm("" : "+r"(weight), "+r"(weight_3));
        Vector input[n_vector];
#pragma GCC unroll 4
        for (int j = 0; j < n_vector; ++j) input[j] = load(point + j * width);
#pragma GCC unroll 8
        for (int r = 0; r < n_row; ++r) {
            const Vector w =
                broadcast(r < 3 ? weight[r * matrix.row] : weight_3[(r - 3) * matrix.row]);
#pragma GCC unroll 4
            for (int j = 0; j < n_vector; ++j) sum[r][j] = mul_add(w, input[j], sum[r][j]);
        }
        point += x.stride[0];
        weight += matrix.column;
        weight_3 += matrix.column;
    }
#pragma GCC unroll 8
    for (int r = 0; r < n_row; ++r) {
        if (float* kept = row(epilogue.sum, o + r, i)) {
#pragma GCC unroll 4
            for (int j = 0; j < n_vector; ++j) store(sum[r][j], kept + j * width);
        }
        activate_vectors<activation>(sum[r]);
    }
#pragma GCC unroll 8
    for (int r = 0; r < n_row; ++r) {
        const float* factor = row(epilogue.factor, o + r, i);
        const float* residual = row(epilogue.residual, o + r, i);
        const float* before = row(epilogue.before, o + r, i);
        float* out = y.data + (o + r) * y.stride[0] + i;
#pragma GCC unroll 4
        for (int j = 0; j < n_vector; ++j) {
            Vector value = sum[r][j];
            if constexpr (is_gated) value = hn::Mul(value, load(factor + j * width));
            if (residual) value = hn::Add(value, load(residual + j * width));
            if (before) value = hn::Add(value, load(before + j * width));
            store(value, out + j * width);
        }
    }
}

/// AVX2 has 16 registers: 6 x 2 sums, 2 inputs, 1 weight. AVX-512 has 32: 6 x 4, 4 and 1.
constexpr int n_block_vector = width == 8 ? 2 : 4;

/// n_row outputs from o, points [first, end). Never inlined: with other loops around it the register
/// block loses registers (a quarter of SwiGLU's speed with AVX2, GCC 12).
template <Activation activation, bool is_gated, int n_row>
HWY_NOINLINE void linear_rows(const Matrix& matrix, Tile<const float> x, const Epilogue& epilogue,
                              Tile<float> y, int64_t o, int64_t first, int64_t end) {
    int64_t i = first;
    for (; i + n_block_vector * width <= end; i += n_block_vector * width)
        linear_block<activation, is_gated, n_row, n_block_vector>(matrix, x, epilogue, y, o, i);
    for (; i < end; i += width)
        linear_block<activation, is_gated, n_row, 1>(matrix, x, epilogue, y, o, i);
}

/// Input values that all rows of W pass over while they are in L1: half of 32 KiB.
constexpr int64_t resident_inputs = 4096;

template <Activation activation, bool is_gated = false>
void linear_layer(const Matrix& matrix, Tile<const float> x, const Epilogue& epilogue,
                  Tile<float> y) {
    const int64_t n_lane = round_up(x.shape[1], lane_count);
    // At least what linear_block takes at once.
    const int64_t block = std::max<int64_t>(
        resident_inputs / std::max<int64_t>(matrix.n_column, 1) / lane_count * lane_count,
        std::max<int64_t>(n_block_vector * width, 2 * lane_count));
    for (int64_t first = 0; first < n_lane; first += block) {
        const int64_t end = std::min(first + block, n_lane);
        int64_t o = 0;
        // Single rows are slow: 8 is 4 + 4 and not 6 + 1 + 1.
        for (; o + 6 <= matrix.n_row && o + 8 != matrix.n_row; o += 6)
            linear_rows<activation, is_gated, 6>(matrix, x, epilogue, y, o, first, end);
        for (; o + 4 <= matrix.n_row; o += 4)
            linear_rows<activation, is_gated, 4>(matrix, x, epilogue, y, o, first, end);
        for (; o < matrix.n_row; ++o)
            linear_rows<activation, is_gated, 1>(matrix, x, epilogue, y, o, first, end);
    }
}

inline void linear_layer(const Linear<float>& layer, Tile<const float> x, const Epilogue& epilogue,
                         Tile<float> y) {
    const Matrix matrix = matrix_of(layer);
    switch (epilogue.activation) {
        case Activation::identity:
            return linear_layer<Activation::identity>(matrix, x, epilogue, y);
        case Activation::gelu_tanh:
            return linear_layer<Activation::gelu_tanh>(matrix, x, epilogue, y);
        case Activation::silu: return linear_layer<Activation::silu>(matrix, x, epilogue, y);
        case Activation::gelu: return linear_layer<Activation::gelu>(matrix, x, epilogue, y);
        case Activation::relu: return linear_layer<Activation::relu>(matrix, x, epilogue, y);
        case Activation::tanh: return linear_layer<Activation::tanh>(matrix, x, epilogue, y);
    }
}

}  // namespace surrogate::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
