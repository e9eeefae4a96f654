// SPDX-License-Identifier: Apache-2.0
// An affine layer with all operations that may follow it. This file is compiled once per SIMD
// instruction set.
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

/// The matrix that multiplies the input: element (r, c) is at data[r * row + c * column], so that
/// weights are read in PyTorch's layout or transposed. Sums start at bias (n_row), or at 0 if it is
/// null.
struct Matrix {
    const float* data;
    int64_t n_row, n_column;
    int64_t row, column;
    const float* bias;
};

inline Matrix matrix_of(const Linear<float>& layer) {
    return {layer.weight, layer.n_out, layer.n_in, layer.n_in, 1, layer.bias};
}

/// Operations after a product: y = f(W x + b) [factor] [+ residual] [+ before], in this order; null
/// members are skipped. Factor and addends may be y itself. W x + b is stored in `sum` if it is not
/// null.
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

/// AVX2 has 16 registers: 6 x 2 sums, 2 inputs, 1 weight. AVX-512 has 32: 6 x 4, 4 and 1.
constexpr int n_block_vector = width == 8 ? 2 : 4;

/// Computes a register block: n_row outputs x n_vector vectors of points. Weights are broadcast
/// from memory. An epilogue here is an activation of one instruction and addends.
template <Activation activation, bool has_epilogue, int n_row, int n_vector>
HWY_INLINE void linear_block(const Matrix& matrix, Tile<const float> x, const Epilogue& epilogue,
                             Tile<float> y, int64_t o, int64_t i) {
    Vector sum[n_row][n_vector];
#pragma GCC unroll 8
    for (int r = 0; r < n_row; ++r) {
        const Vector bias = broadcast(matrix.bias ? matrix.bias[o + r] : 0.0f);
#pragma GCC unroll 4
        for (int j = 0; j < n_vector; ++j) sum[r][j] = bias;
    }
    // (n_row, n_column), reached from two moving pointers: with separate pointers the compiler
    // would keep one per row, and the stack in the loop.
    const float* weight = matrix.data + o * matrix.row;
    const float* weight_3 = weight + (n_row > 3 ? 3 * matrix.row : 0);
    const float* point = x.data + i;
#pragma GCC unroll 2  // fewer instructions per multiply-add: matters where two threads share a core
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
        const float* residual = has_epilogue ? row(epilogue.residual, o + r, i) : nullptr;
        const float* before = has_epilogue ? row(epilogue.before, o + r, i) : nullptr;
        float* out = y.data + (o + r) * y.stride[0] + i;
        activate_vectors<activation>(sum[r]);
#pragma GCC unroll 4
        for (int j = 0; j < n_vector; ++j) {
            Vector value = sum[r][j];
            if (residual) value = hn::Add(value, load(residual + j * width));
            if (before) value = hn::Add(value, load(before + j * width));
            store(value, out + j * width);
        }
    }
}

/// Computes n_row outputs from o, points [first, end). Never inlined: with other loops around it
/// the register block loses registers (a quarter of SwiGLU's speed with AVX2, GCC 12).
template <Activation activation, bool has_epilogue, int n_row>
HWY_NOINLINE void linear_rows(const Matrix& matrix, Tile<const float> x, const Epilogue& epilogue,
                              Tile<float> y, int64_t o, int64_t first, int64_t end) {
    int64_t i = first;
    for (; i + n_block_vector * width <= end; i += n_block_vector * width)
        linear_block<activation, has_epilogue, n_row, n_block_vector>(matrix, x, epilogue, y, o, i);
    for (; i < end; i += width)
        linear_block<activation, has_epilogue, n_row, 1>(matrix, x, epilogue, y, o, i);
}

/// Rows of an epilogue: addresses of one row's numbers of the first point; null: skipped.
struct EpilogueRow {
    const float* sums;
    float* kept;
    const float *factor, *residual, *before;
    float* out;
};

/// Computes the results of n vectors from point i on from their sums.
template <Activation activation, Powers way, int n>
HWY_INLINE void finish_vectors(const EpilogueRow& at, int64_t i) {
    Vector value[n];
    const auto each = [&](const auto& body) HWY_ATTR {
#pragma GCC unroll 4
        for (int j = 0; j < n; ++j) body(value[j], i + j * width);
    };
    each([&](Vector& x, int64_t k) HWY_ATTR { x = load(at.sums + k); });
    if (at.kept) each([&](Vector x, int64_t k) HWY_ATTR { store(x, at.kept + k); });
    activate_vectors<activation, way>(value);
    if (at.factor)
        each([&](Vector& x, int64_t k) HWY_ATTR { x = hn::Mul(x, load(at.factor + k)); });
    if (at.residual)
        each([&](Vector& x, int64_t k) HWY_ATTR { x = hn::Add(x, load(at.residual + k)); });
    if (at.before)
        each([&](Vector& x, int64_t k) HWY_ATTR { x = hn::Add(x, load(at.before + k)); });
    each([&](Vector x, int64_t k) HWY_ATTR { store(x, at.out + k); });
}

/// Applies the epilogue to rows o.. of y, points from `first`, whose sums are `sums` (n_row,
/// n_lane).
template <Activation activation, Powers way>
HWY_NOINLINE void finish_rows(Tile<const float> sums, const Epilogue& epilogue, Tile<float> y,
                              int64_t o, int64_t first) {
    constexpr int n = n_block_vector;
    for (int64_t r = 0; r < sums.shape[0]; ++r) {
        const EpilogueRow at{row(sums, r, 0),
                             row(epilogue.sum, o + r, first),
                             row(epilogue.factor, o + r, first),
                             row(epilogue.residual, o + r, first),
                             row(epilogue.before, o + r, first),
                             row(y, o + r, first)};
        int64_t i = 0;
        for (; i + n * width <= sums.shape[1]; i += n * width)
            finish_vectors<activation, way, n>(at, i);
        for (; i < sums.shape[1]; i += width) finish_vectors<activation, way, 1>(at, i);
    }
}

/// Calls body(first, end) for groups of n_lane points. Their n_column inputs, 16 KiB at most, stay
/// in the first-level cache while all rows of W are applied to them. A group has at least the
/// points of a register block.
template <class Body>
HWY_INLINE void for_resident_points(int64_t n_lane, int64_t n_column, const Body& body) {
    constexpr int64_t resident_inputs = 4096;  // half of 32 KiB
    const int64_t block = std::max<int64_t>(
        resident_inputs / std::max<int64_t>(n_column, 1) / lane_count * lane_count,
        std::max<int64_t>(n_block_vector * width, 2 * lane_count));
    for (int64_t first = 0; first < n_lane; first += block)
        body(first, std::min(first + block, n_lane));
}

/// Calls body(o, n_row) for register blocks of rows; n_row is a compile-time constant. Single rows
/// are slow: 8 rows are 4 + 4 and not 6 + 1 + 1.
template <class Body>
HWY_INLINE void for_row_blocks(int64_t n_row, const Body& body) {
    int64_t o = 0;
    for (; o + 6 <= n_row && o + 8 != n_row; o += 6) body(o, std::integral_constant<int, 6>());
    for (; o + 4 <= n_row; o += 4) body(o, std::integral_constant<int, 4>());
    for (; o < n_row; ++o) body(o, std::integral_constant<int, 1>());
}

/// Computes y = f(W x + b) [+ residual] [+ before], in registers until it is stored; f is an
/// activation of one instruction or none.
template <Activation activation = Activation::identity>
void short_layer(const Matrix& matrix, Tile<const float> x, const Epilogue& epilogue,
                 Tile<float> y) {
    const int64_t n_lane = round_up(x.shape[1], lane_count);
    for_resident_points(n_lane, matrix.n_column, [&](int64_t first, int64_t end) HWY_ATTR {
        for_row_blocks(matrix.n_row, [&](int64_t o, auto n_row) HWY_ATTR {
            linear_rows<activation, true, decltype(n_row)::value>(matrix, x, epilogue, y, o, first,
                                                                  end);
        });
    });
}

/// Computes a layer with any epilogue: sums of a block of rows are stored in memory, and a separate
/// pass follows. An activation directly after each register block would wait for its own results,
/// because too few of its vectors are in flight (mlp.md).
template <Activation activation>
void long_layer(const Matrix& matrix, Tile<const float> x, const Epilogue& epilogue,
                Tile<float> y) {
    alignas(64) float memory[6 * tile_points];  // (n_row, tile_points): 1.5 KiB
    const int64_t n_lane = round_up(x.shape[1], lane_count);
    const auto finish_block = [&](int64_t o, int64_t first, int64_t count, auto n_row) HWY_ATTR {
        constexpr int n = decltype(n_row)::value;
        const Tile<float> sums{memory, {n, count}, {tile_points, 1}};
        const Matrix rows{
            matrix.data + o * matrix.row,           n, matrix.n_column, matrix.row, matrix.column,
            matrix.bias ? matrix.bias + o : nullptr};
        linear_rows<Activation::identity, false, n>(rows, points(x, first, count), {}, sums, 0, 0,
                                                    count);
        with_fast_powers([&](auto way) HWY_ATTR {
            finish_rows<activation, decltype(way)::value>(sums, epilogue, y, o, first);
        });
    };
    for_resident_points(n_lane, matrix.n_column, [&](int64_t first, int64_t end) HWY_ATTR {
        for_row_blocks(matrix.n_row, [&](int64_t o, auto n_row) HWY_ATTR {
            for (int64_t i = first; i < end; i += tile_points)
                finish_block(o, i, std::min(tile_points, end - i), n_row);
        });
    });
}

inline void linear_layer(const Linear<float>& layer, Tile<const float> x, const Epilogue& epilogue,
                         Tile<float> y) {
    const Matrix matrix = matrix_of(layer);
    const bool is_short = !epilogue.sum.data && !epilogue.factor.data;
    switch (epilogue.activation) {
        case Activation::identity:
            if (is_short) return short_layer<Activation::identity>(matrix, x, epilogue, y);
            return long_layer<Activation::identity>(matrix, x, epilogue, y);
        case Activation::gelu_tanh:
            return long_layer<Activation::gelu_tanh>(matrix, x, epilogue, y);
        case Activation::silu: return long_layer<Activation::silu>(matrix, x, epilogue, y);
        case Activation::gelu: return long_layer<Activation::gelu>(matrix, x, epilogue, y);
        case Activation::relu:
            if (is_short) return short_layer<Activation::relu>(matrix, x, epilogue, y);
            return long_layer<Activation::relu>(matrix, x, epilogue, y);
        case Activation::tanh: return long_layer<Activation::tanh>(matrix, x, epilogue, y);
    }
}

}  // namespace surrogate::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
