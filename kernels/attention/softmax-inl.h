// SPDX-License-Identifier: Apache-2.0
// Weights of a softmax in base 2 from scores of any size. This file is compiled once per SIMD
// instruction set. The reason for each limit is in flare.md, section "Numerical limits".
#if defined(SURROGATE_SOFTMAX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SURROGATE_SOFTMAX_INL_H_
#undef SURROGATE_SOFTMAX_INL_H_
#else
#define SURROGATE_SOFTMAX_INL_H_
#endif

#include <bit>
#include <limits>

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

/// Means "scores may be as small as they want" where a lower limit of scores is asked for.
constexpr float any_score = -std::numeric_limits<float>::infinity();

/// Scores above this size need the careful path: neighboring floats are then so far apart that m -
/// 125 may round to m.
constexpr float huge_score = 0x1p20f;

/// Returns the larger of `largest` and |x| as bits, compared as integers: a NaN is larger than
/// infinity and stays.
HWY_INLINE hn::Vec<Bits> larger_size(hn::Vec<Bits> largest, Vector x) {
    return hn::Max(largest, hn::BitCast(Bits(), hn::Abs(x)));
}

/// Returns the largest size over all lanes, or NaN if a number was not finite.
HWY_INLINE float size_of_bits(hn::Vec<Bits> largest) {
    const uint32_t bits = hn::GetLane(hn::MaxOfLanes(Bits(), largest));
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();
    return bits < 0x7f800000u ? std::bit_cast<float>(bits) : nan;
}

/// Returns the largest |x| of n_row rows of n numbers, or NaN if one is not finite.
inline float largest_size(const float* x, int64_t row, int64_t n_row, int64_t n) {
    auto largest = hn::Zero(Bits());
    for (int64_t r = 0; r < n_row; ++r, x += row) {
        int64_t i = 0;
        for (; i + width <= n; i += width) largest = larger_size(largest, load(x + i));
        for (; i < n; ++i) largest = larger_size(largest, broadcast(x[i]));
    }
    return size_of_bits(largest);
}

/// Returns a lower limit of the scores of n_lane queries (n_dim, row) with keys whose channels have
/// at most the size `key`, and a bias of at most the size `bias`; any_score if they may be huge,
/// not finite or NaN.
inline float least_score(const float* queries, int64_t row, int64_t n_dim, int64_t n_lane,
                         float key, float bias = 0) {
    auto largest = hn::Zero(Bits());  // sum of |q| over channels
    for (int64_t i = 0; i < n_lane; i += width) {
        Vector sum = broadcast(0.0f);
        for (int64_t d = 0; d < n_dim; ++d)
            sum = hn::Add(sum, hn::Abs(load(queries + d * row + i)));
        largest = larger_size(largest, sum);
    }
    const float limit = 1.001f * (key * size_of_bits(largest) + bias);
    return limit < huge_score ? -limit : any_score;
}

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
template <Powers way, bool is_clamped, int n_row, int n_vector>
HWY_INLINE void weigh_rows(const Vector* largest, const Vector* lowest, float* scores,
                           Vector* sum) {
    Vector x[n_row * n_vector];
#pragma GCC unroll 8
    for (int j = 0; j < n_row * n_vector; ++j) {
        Vector score = load(scores + j * width);
        if constexpr (is_clamped) score = at_least(lowest[j % n_vector], score);
        x[j] = hn::Sub(score, largest[j % n_vector]);
    }
    powers_of_two<way>(x);
#pragma GCC unroll 8
    for (int j = 0; j < n_row * n_vector; ++j) {
        sum[j % n_vector] = hn::Add(sum[j % n_vector], x[j]);
        store(x[j], scores + j * width);
    }
}

/// Replaces scores by weights 2^max(limit, S - m), in place, and returns their sums. A NaN score
/// gives a NaN weight. Without is_clamped, no score is below the limit.
template <int n_vector, Powers way = Powers::by_integers, bool is_clamped = true>
HWY_NOINLINE void weigh_keys(int64_t n_key, const float* maximum, float* scores, float* sums,
                             float limit = lowest_power) {
    Vector sum[n_vector], largest[n_vector], lowest[n_vector];
    for (int j = 0; j < n_vector; ++j) {
        sum[j] = broadcast(0.0f);
        largest[j] = load(maximum + j * width);
        lowest[j] = hn::Add(largest[j], broadcast(limit));
    }
    // Vectors in flight against registers; measured in flare.md.
    constexpr int n_row = width == 16 && way == Powers::by_integers ? 4 : 2;
    int64_t i = 0;
    for (; i + n_row <= n_key; i += n_row)
        weigh_rows<way, is_clamped, n_row, n_vector>(largest, lowest, scores + i * n_vector * width,
                                                     sum);
    for (; i < n_key; ++i)
        weigh_rows<way, is_clamped, 1, n_vector>(largest, lowest, scores + i * n_vector * width,
                                                 sum);
    for (int j = 0; j < n_vector; ++j) store(sum[j], sums + j * width);
}

/// Runs one step of a running softmax in n_vector vectors of queries: n_key scores become weights
/// relative to the new maximum, in place.
///   block_maximum  (n_lane)  at least old_maximum and all scores; overwritten
///   old_maximum    (n_lane)  becomes the new maximum
///   rescale        (n_lane)  factor for the sums and values so far
///   sums           (n_lane)  sums of the new weights
///   limit          smallest exponent of a weight
///   lowest         no score of a lane is smaller
template <int n_vector>
HWY_INLINE void weigh_block(int64_t n_key, float* scores, float* block_maximum, float* old_maximum,
                            float* rescale, float* sums, float limit = lowest_power,
                            float lowest = any_score) {
    constexpr int64_t n_lane = n_vector * width;
    bool is_clamped = false;
    for (int64_t j = 0; j < n_lane; j += width) {
        const Vector largest = load(block_maximum + j);
        store(power_of_difference(load(old_maximum + j), largest), rescale + j);
        store(largest, old_maximum + j);
        store(tame_huge_scores(largest, n_key, n_lane, scores + j), block_maximum + j);
        const Vector smallest = hn::Add(largest, broadcast(limit));
        is_clamped |= !hn::AllTrue(Tag(), hn::Le(smallest, broadcast(lowest)));
    }
    with_fast_powers([&](auto w) HWY_ATTR {
        constexpr Powers way = decltype(w)::value;
        const auto weigh =
            is_clamped ? weigh_keys<n_vector, way> : weigh_keys<n_vector, way, false>;
        weigh(n_key, block_maximum, scores, sums, limit);
    });
}

}  // namespace surrogate::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
