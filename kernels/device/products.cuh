// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/device/cuda.cuh"
#include "kernels/device/operand.hpp"

/// Matrix products of a warp in the precision of a plan, on 16 x 8 pieces of a matrix.
///
/// A piece is stored in the registers of a warp in the layout of a product ("C" of cuda.cuh): lane
/// 4 g + t has (g, 2t), (g, 2t+1), (g+8, 2t), (g+8, 2t+1). As an operand it is a `Piece`: uint2 of
/// 16-bit pairs, or uint4 of floats, in that order. The same registers serve as left side, as right
/// side (its rows are then the columns of the product) and, transposed, as a right side summed over
/// its rows. Activations, keys and probabilities therefore pass from one product to the next
/// without leaving the lane. Source: FlashAttention-2, arXiv:2307.08691, reuses accumulators in
/// this manner.
namespace surrogate::kernels::cuda {

__device__ inline float as_float(uint32_t bits) {
    return __uint_as_float(bits);
}
__device__ inline uint32_t as_bits(float value) {
    return __float_as_uint(value);
}

template <Operand operand>
struct Products;

/// Products with operands in fp16 and bf16.
template <Operand operand>
struct NarrowProducts {
    using Piece = uint2;
    static constexpr int step = 16;  // inputs per step of a layer

    __device__ static uint32_t pair(float first, float second) {
        return operand == Operand::fp16 ? pack_f16(first, second) : pack_bf16(first, second);
    }
    __device__ static Piece piece(const float (&c)[4]) {
        return make_uint2(pair(c[0], c[1]), pair(c[2], c[3]));
    }
    template <int n>
    __device__ static void multiply(float (&c)[4], const uint32_t (&a)[n],
                                    const uint32_t (&b)[n / 2]) {
        if constexpr (operand == Operand::fp16) {
            product_f16(c, a, b);
        } else {
            product_bf16(c, a, b);
        }
    }
    __device__ static void multiply(float (&c)[4], const uint32_t (&a)[2], uint32_t b) {
        if constexpr (operand == Operand::fp16) {
            product_f16(c, a, b);
        } else {
            product_bf16(c, a, b);
        }
    }

    /// Computes first += a (rows 0..7 of b)^T, second += a (rows 8..15 of b)^T.
    __device__ static void scores(float (&first)[4], float (&second)[4], Piece a, Piece b) {
        const uint32_t left[2] = {a.x, a.y};
        multiply(first, left, b.x);
        multiply(second, left, b.y);
    }

    /// Computes the same with two pieces of each side: an instruction then takes twice the inputs.
    __device__ static void scores(float (&first)[4], float (&second)[4], const Piece (&a)[2],
                                  Piece b, Piece next) {
        const uint32_t left[4] = {a[0].x, a[0].y, a[1].x, a[1].y};
        const uint32_t top[2] = {b.x, next.x}, bottom[2] = {b.y, next.y};
        multiply(first, left, top);
        multiply(second, left, bottom);
    }

    /// 16 rows x 16 columns, left and right half, as the left side of weigh().
    struct Left {
        uint32_t a[4];
    };
    __device__ static Left left(const float (&first)[4], const float (&second)[4]) {
        return {{pair(first[0], first[1]), pair(first[2], first[3]), pair(second[0], second[1]),
                 pair(second[2], second[3])}};
    }
    /// Computes c += left b, b transposed: its columns are summed over.
    __device__ static void weigh(float (&c)[4], const Left& left, Piece b) {
        const uint32_t right[2] = {b.x, b.y};
        multiply(c, left.a, right);
    }

    /// True: weigh() can also give the sums of the rows of `left`, as rounded, in every column of
    /// c. A product with ones costs one instruction for 16 x 16 numbers.
    static constexpr bool sums_rows = true;
    __device__ static void add_rows(float (&c)[4], const Left& left) {
        constexpr uint32_t one = operand == Operand::fp16 ? 0x3c003c00U : 0x3f803f80U;
        const uint32_t ones[2] = {one, one};
        multiply(c, left.a, ones);
    }

    /// Returns the piece with rows and columns of each half (8 x 8) exchanged.
    __device__ static Piece transpose(Piece p) {
        return make_uint2(transpose_8x8(p.x), transpose_8x8(p.y));
    }

    /// Computes one step of a layer: y (16 points, 8 n_group outputs) += inputs of two pieces times
    /// weights. `rest` is used by operands in pieces.
    template <int n_group>
    __device__ static void layer_step(float (&y)[n_group][4], float (&)[n_group][4],
                                      const float (*x)[4], const uint4* weights, int lane) {
        add_step(y, step_inputs(x), weights, lane);
    }
    /// A step in two parts: the inputs, converted from floats or unchanged, and their products.
    using StepInputs = Left;
    __device__ static StepInputs step_inputs(const float (*x)[4]) { return left(x[0], x[1]); }
    __device__ static StepInputs step_inputs(const Piece* x) {
        return {{x[0].x, x[0].y, x[1].x, x[1].y}};
    }
    template <int n_group>
    __device__ static void add_step(float (&y)[n_group][4], const StepInputs& inputs,
                                    const uint4* weights, int lane) {
#pragma unroll
        for (int group = 0; group < n_group; group += 2) {
            const uint4 w = weights[group / 2 * 32 + lane];
            const uint32_t even[2] = {w.x, w.y}, odd[2] = {w.z, w.w};
            multiply(y[group], inputs.a, even);
            multiply(y[group + 1], inputs.a, odd);
        }
    }
    static constexpr int step_vectors(int n_group) {
        return n_group / 2 * 32;
    }
};

template <>
struct Products<Operand::fp16> : NarrowProducts<Operand::fp16> {};
template <>
struct Products<Operand::bf16> : NarrowProducts<Operand::bf16> {};

/// Products with operands in tf32 and fp32. Products of 8 use columns 2t and 2t+1 of a piece for
/// their t and t+4.
template <Operand operand>
struct WideProducts {
    using Piece = uint4;
    static constexpr int step = 8;
    static constexpr bool is_split = operand == Operand::fp32;

    __device__ static Piece piece(const float (&c)[4]) {
        if constexpr (is_split) {
            return make_uint4(as_bits(c[0]), as_bits(c[1]), as_bits(c[2]), as_bits(c[3]));
        } else {
            return make_uint4(to_tf32(c[0]), to_tf32(c[1]), to_tf32(c[2]), to_tf32(c[3]));
        }
    }

    /// An operand and, in fp32, the remainder after rounding to tf32.
    template <int n>
    struct Split {
        uint32_t high[n];
        uint32_t low[is_split ? n : 1];
    };
    template <int n>
    __device__ static Split<n> split(const uint32_t (&bits)[n]) {
        Split<n> s{};
#pragma unroll
        for (int i = 0; i < n; ++i) {
            if constexpr (is_split) {
                // Rounded to nearest by two integer instructions; to_tf32() needs four. The result
                // for a NaN does not matter here, because the rest is NaN. The product cuts the
                // rest to 11 bits, 2^-21 of the operand and of either sign.
                s.high[i] = (bits[i] + 0x1000U) & 0xffffe000U;
                s.low[i] = as_bits(as_float(bits[i]) - as_float(s.high[i]));
            } else {
                s.high[i] = bits[i];
            }
        }
        return s;
    }
    /// Computes c += a b. In fp32 it adds all terms except low * low, which is below 2^-22 of the
    /// product. Tensor cores truncate their sums towards zero. In fp32 the sums therefore start
    /// from zero, small terms first, and c grows by additions that round.
    __device__ static void multiply(float (&c)[4], const Split<4>& a, const Split<2>& b) {
        if constexpr (is_split) {
            float part[4] = {};
            product_tf32(part, a.low, b.high);
            product_tf32(part, a.high, b.low);
            product_tf32(part, a.high, b.high);
#pragma unroll
            for (int i = 0; i < 4; ++i) c[i] += part[i];
        } else {
            product_tf32(c, a.high, b.high);
        }
    }
    __device__ static Split<4> left_side(Piece p) {
        const uint32_t bits[4] = {p.x, p.z, p.y, p.w};
        return split(bits);
    }
    __device__ static Split<2> right_side(uint32_t first, uint32_t second) {
        const uint32_t bits[2] = {first, second};
        return split(bits);
    }

    __device__ static void scores(float (&first)[4], float (&second)[4], Piece a, Piece b) {
        const Split<4> left = left_side(a);
        multiply(first, left, right_side(b.x, b.y));
        multiply(second, left, right_side(b.z, b.w));
    }
    __device__ static void scores(float (&first)[4], float (&second)[4], const Piece (&a)[2],
                                  Piece b, Piece next) {
        scores(first, second, a[0], b);
        scores(first, second, a[1], next);
    }

    struct Left {
        Split<4> first, second;
    };
    __device__ static Left left(const float (&first)[4], const float (&second)[4]) {
        return {left_side(piece(first)), left_side(piece(second))};
    }
    __device__ static void weigh(float (&c)[4], const Left& left, Piece b) {
        multiply(c, left.first, right_side(b.x, b.y));
        multiply(c, left.second, right_side(b.z, b.w));
    }

    static constexpr bool sums_rows = false;  // operands in pieces: plain sums are cheaper

    /// Returns the transposed piece. Transposes move 16 bits: upper and lower halves are moved
    /// separately.
    __device__ static Piece transpose(Piece p) {
        Piece q;
        transpose_pair(p.x, p.y, q.x, q.y);
        transpose_pair(p.z, p.w, q.z, q.w);
        return q;
    }
    __device__ static void transpose_pair(uint32_t first, uint32_t second, uint32_t& to_first,
                                          uint32_t& to_second) {
        const uint32_t low = transpose_8x8(__byte_perm(first, second, 0x5410));
        const uint32_t high = transpose_8x8(__byte_perm(first, second, 0x7632));
        to_first = __byte_perm(low, high, 0x5410);
        to_second = __byte_perm(low, high, 0x7632);
    }

    /// Computes one step of a layer with the inputs of one piece. fp32: the small terms are added
    /// to `rest`, which is added at the end, so that y is truncated once per step and not three
    /// times.
    template <int n_group>
    __device__ static void layer_step(float (&y)[n_group][4], float (&rest)[n_group][4],
                                      const float (*x)[4], const uint4* weights, int lane) {
        const Split<4> inputs = left_side(piece(x[0]));
        if constexpr (is_split) {
#pragma unroll
            for (int group = 0; group < n_group; ++group) {
                const uint4 w = weights[group * 32 + lane];
                const uint32_t high[2] = {w.x, w.y}, low[2] = {w.z, w.w};
                product_tf32(rest[group], inputs.low, high);
                product_tf32(rest[group], inputs.high, low);
                product_tf32(y[group], inputs.high, high);
            }
        } else {
            add_step(y, inputs, weights, lane);
        }
    }
    /// As for narrow operands. fp32: y grows by additions that round, as in multiply(), and stays
    /// accurate over any number of steps.
    using StepInputs = Split<4>;
    __device__ static StepInputs step_inputs(const float (*x)[4]) {
        return left_side(piece(x[0]));
    }
    __device__ static StepInputs step_inputs(const Piece* x) {
        return left_side(x[0]);
    }
    template <int n_group>
    __device__ static void add_step(float (&y)[n_group][4], const StepInputs& inputs,
                                    const uint4* weights, int lane) {
        if constexpr (is_split) {
#pragma unroll
            for (int group = 0; group < n_group; ++group) {
                const uint4 w = weights[group * 32 + lane];
                multiply(y[group], inputs, Split<2>{{w.x, w.y}, {w.z, w.w}});
            }
        } else {
#pragma unroll
            for (int group = 0; group < n_group; group += 2) {
                const uint4 w = weights[group / 2 * 32 + lane];
                multiply(y[group], inputs, right_side(w.x, w.y));
                multiply(y[group + 1], inputs, right_side(w.z, w.w));
            }
        }
    }
    static constexpr int step_vectors(int n_group) {
        return n_group / (is_split ? 1 : 2) * 32;
    }
};

template <>
struct Products<Operand::tf32> : WideProducts<Operand::tf32> {};
template <>
struct Products<Operand::fp32> : WideProducts<Operand::fp32> {};

}  // namespace surrogate::kernels::cuda
