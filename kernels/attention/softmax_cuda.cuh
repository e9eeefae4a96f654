// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/device/products.cuh"
#include "kernels/norm/norm_cuda.cuh"

namespace surrogate::kernels::cuda {

/// Returns 2^x for x <= 14, computed on the FMA units with a relative error of 7.5e-5, below the
/// rounding of a 16-bit operand. x below -126 counts as -126. A NaN gives a number beyond the range
/// of a 16-bit operand, so that it is detected in the sums. Cubic on [-1/2, 1/2], minimax in
/// relative error.
__device__ inline float polynomial_exp2(float x) {
    constexpr float round = 12582912.0F;  // 3 * 2^22: adding it leaves the nearest integer below
    const float clamped = x < -126.0F ? -126.0F : x;
    const float shifted = clamped + round;
    const float f = clamped - (shifted - round);
    const float p = 0.99992806F + f * (0.69326097F + f * (0.24261113F + f * 0.055171669F));
    return as_float(as_bits(p) + (as_bits(shifted) << 23));
}

/// Computes the probabilities of the scores of a row: piece `index` of several. With 16-bit
/// operands one piece in four uses the polynomial. The unit for 2^x gives 16 results per clock and
/// multiprocessor, the FMA units give 128; with this split both are busy for about the same time
/// (flare_cuda.md).
template <Operand operand>
__device__ inline void probabilities(int index, float maximum_first, float maximum_second,
                                     float (&s)[4]) {
    const bool by_polynomial = !is_wide(operand) && index % 4 == 3;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const float x = s[i] - (i < 2 ? maximum_first : maximum_second);
        s[i] = by_polynomial ? polynomial_exp2(x) : fast_exp2(x);
    }
}

/// Returns the largest probability to which a sum over any number of points is scaled: 2^14 in
/// fp16, whose smallest number is 2^-24. With a largest probability of 1, a point 26 (log2) below
/// the largest would be lost, and a million such points are 1.5 % of the sum. The other operands
/// have the range of float.
constexpr float peak_of_points(Operand operand) {
    return operand == Operand::fp16 ? 14.0F : 0.0F;
}

/// Replaces the scores of n_piece / 2 operand tiles, side by side, by probabilities. Adds the sums
/// of the rows to `sum`: over the columns of this lane only, or over all columns if P::sums_rows.
/// `maximum` is the score whose probability is 1.
template <Operand operand, int n_piece>
__device__ inline void exponentiate(float maximum_first, float maximum_second,
                                    float (&s)[n_piece][4], float& sum_first, float& sum_second) {
    using P = Products<operand>;
    float sums[4] = {};
#pragma unroll
    for (int j = 0; j < n_piece; ++j) {
        probabilities<operand>(j, maximum_first, maximum_second, s[j]);
        if constexpr (P::sums_rows) {
            if (j % 2 == 1) P::add_rows(sums, P::left(s[j - 1], s[j]));
        } else {
            sums[0] += s[j][0] + s[j][1];
            sums[2] += s[j][2] + s[j][3];
        }
    }
    // The new terms are added to each other first: one by one, far points would be lost beside a
    // large sum.
    sum_first += sums[0];
    sum_second += sums[2];
}

/// Returns the sums of exponentiate() over all lanes of a row.
template <Operand operand>
__device__ inline float whole_sum(float sum) {
    return Products<operand>::sums_rows ? sum : sum_of_quad(sum);
}

/// Returns the largest value of the four lanes of a row.
__device__ inline float max_of_quad(float value) {
    value = fmaxf(value, __shfl_xor_sync(0xffffffffU, value, 1));
    return fmaxf(value, __shfl_xor_sync(0xffffffffU, value, 2));
}

}  // namespace surrogate::kernels::cuda
