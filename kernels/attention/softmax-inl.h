// SPDX-License-Identifier: Apache-2.0
// Weights of a softmax in base 2 from scores of any size. This file is compiled once per SIMD
// instruction set. The reason for each limit is in flare.md, section "Numerical limits".
#if defined(SURROGATE_SOFTMAX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SURROGATE_SOFTMAX_INL_H_
#undef SURROGATE_SOFTMAX_INL_H_
#else
#define SURROGATE_SOFTMAX_INL_H_
#endif

#include "kernels/base/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::HWY_NAMESPACE {

/// Keys per pass through a buffer of scores: 128 keys x 16 lanes x 4 bytes = 8 KiB, a quarter of a
/// first-level cache.
constexpr int64_t max_keys = 128;

/// Smallest exponent of the weights of plain attention. A weight of 2^-80 beside the largest one
/// does not change a sum in single precision, and its products with values and gradients are normal
/// numbers: an instruction with subnormal operands takes more than a hundred cycles.
constexpr float lowest_weight = -80;

/// Means "no score yet": 1/16 above the most negative number, so that subtracting from it does not
/// overflow.
constexpr float no_score = -0x1.ep127f;

/// Scores above this size need the careful path: neighboring floats are then so far apart that m -
/// 125 may round to m.
constexpr float huge_score = 0x1p20f;

/// Returns the lower limit of scores beside a maximum m. It is low enough that 2^(limit - m) is
/// negligible, and m - limit is exact enough. For huge m a fixed distance would be lost in
/// rounding, so the distance grows with m.
HWY_INLINE Vector lowest_beside(Vector m) {
    const Vector size = hn::Abs(m);
    const Vector distance =
        hn::IfThenElse(hn::Lt(size, broadcast(huge_score)), broadcast(-lowest_power),
                       hn::Mul(size, broadcast(0x1p-10f)));
    return hn::Sub(m, distance);
}

/// Returns 2^(a - m) for any finite a <= m, at least 2^-125.
HWY_INLINE Vector power_of_difference(Vector a, Vector m) {
    const Vector x = hn::Sub(at_least(lowest_beside(m), a), m);
    return power_of_two(at_least(broadcast(lowest_power), x));
}

/// Replaces scores by max(-125, S - m) and m by 0 in lanes whose maximum is huge. Other lanes are
/// unchanged: their results must not depend on the lanes that share a vector with them.
HWY_INLINE Vector tame_huge_scores(Vector maximum, int64_t n_key, int64_t step, float* scores) {
    const auto moderate = hn::Lt(hn::Abs(maximum), broadcast(huge_score));
    if (hn::AllTrue(Tag(), moderate)) return maximum;
    const Vector lowest = lowest_beside(maximum);
    for (int64_t i = 0; i < n_key; ++i) {
        const Vector score = load(scores + i * step);
        const Vector below = hn::Sub(at_least(lowest, score), maximum);
        const Vector tame = at_least(broadcast(lowest_power), below);
        store(hn::IfThenElse(moderate, score, tame), scores + i * step);
    }
    return hn::IfThenElse(moderate, maximum, broadcast(0.0f));
}

/// Returns log2(x) of a normal number x > 0. The error is at most 6e-8 absolute for 1 <= x < 2,
/// elsewhere the rounding of the result is added. x = 2^n (1 + f) with sqrt(1/2) <= 1 + f <
/// sqrt(2), log2(1 + f) = f p(f) with p of degree 8 (error 6.7e-9, by Lawson's iteration on 4001
/// Chebyshev points).
HWY_INLINE Vector log_two(Vector x) {
    const float term[] = {1.442694869f,   -0.7213471285f, 0.4809225289f,
                          -0.3607211953f, 0.2876566747f,  -0.2385194383f,
                          0.2173793867f,  -0.2103033353f, 0.1254124185f};
    const auto offset = hn::Set(Bits(), 0x3f3504f3u);  // sqrt(1/2)
    const auto bits = hn::Sub(hn::BitCast(Bits(), x), offset);
    const hn::RebindToSigned<Tag> integers;
    const auto n = hn::ShiftRight<23>(hn::BitCast(integers, bits));
    const auto mantissa = hn::Add(hn::And(bits, hn::Set(Bits(), 0x007fffffu)), offset);
    const Vector f = hn::Sub(hn::BitCast(Tag(), mantissa), broadcast(1.0f));
    Vector p = broadcast(term[8]);
#pragma GCC unroll 8
    for (int i = 7; i >= 0; --i) p = mul_add(p, f, broadcast(term[i]));
    return mul_add(f, p, hn::ConvertTo(Tag(), n));
}

/// Applies weigh_keys() to n_row keys, beginning at `scores`.
template <int n_row, int n_vector>
HWY_INLINE void weigh_rows(const Vector* largest, const Vector* lowest, float* scores,
                           Vector* sum) {
    Vector x[n_row * n_vector];
#pragma GCC unroll 8
    for (int j = 0; j < n_row * n_vector; ++j) {
        const Vector score = at_least(lowest[j % n_vector], load(scores + j * width));
        x[j] = hn::Sub(score, largest[j % n_vector]);
    }
    powers_of_two(x);
#pragma GCC unroll 8
    for (int j = 0; j < n_row * n_vector; ++j) {
        sum[j % n_vector] = hn::Add(sum[j % n_vector], x[j]);
        store(x[j], scores + j * width);
    }
}

/// Replaces scores by weights 2^max(limit, S - m), in place, and returns their sums. A NaN score
/// gives a NaN weight.
template <int n_vector>
HWY_NOINLINE void weigh_keys(int64_t n_key, const float* maximum, float* scores, float* sums,
                             float limit = lowest_power) {
    Vector sum[n_vector], largest[n_vector], lowest[n_vector];
    for (int j = 0; j < n_vector; ++j) {
        sum[j] = broadcast(0.0f);
        largest[j] = load(maximum + j * width);
        lowest[j] = hn::Add(largest[j], broadcast(limit));
    }
    constexpr int n_row =
        width == 16 ? 4 : 2;  // vectors in flight against registers; measured in flare.md
    int64_t i = 0;
    for (; i + n_row <= n_key; i += n_row)
        weigh_rows<n_row, n_vector>(largest, lowest, scores + i * n_vector * width, sum);
    for (; i < n_key; ++i)
        weigh_rows<1, n_vector>(largest, lowest, scores + i * n_vector * width, sum);
    for (int j = 0; j < n_vector; ++j) store(sum[j], sums + j * width);
}

/// Runs one step of a running softmax in n_vector vectors of queries: n_key scores become weights
/// relative to the new maximum, in place.
///   block_maximum  (n_lane)  at least old_maximum and all scores; overwritten
///   old_maximum    (n_lane)  becomes the new maximum
///   rescale        (n_lane)  factor for the sums and values so far
///   sums           (n_lane)  sums of the new weights
///   limit          smallest exponent of a weight
template <int n_vector>
HWY_INLINE void weigh_block(int64_t n_key, float* scores, float* block_maximum, float* old_maximum,
                            float* rescale, float* sums, float limit = lowest_power) {
    constexpr int64_t n_lane = n_vector * width;
    for (int64_t j = 0; j < n_lane; j += width) {
        const Vector largest = load(block_maximum + j);
        store(power_of_difference(load(old_maximum + j), largest), rescale + j);
        store(largest, old_maximum + j);
        store(tame_huge_scores(largest, n_key, n_lane, scores + j), block_maximum + j);
    }
    weigh_keys<n_vector>(n_key, block_maximum, scores, sums, limit);
}

}  // namespace surrogate::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
