// SPDX-License-Identifier: Apache-2.0
// Similarities of a point with lane_count others. This file is compiled once per SIMD instruction
// set. While rows are read, lanes run along channels; then sums of rows are joined, and lanes run
// along pairs.
#if defined(SURROGATE_LOSSES_PAIR_TERMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SURROGATE_LOSSES_PAIR_TERMS_INL_H_
#undef SURROGATE_LOSSES_PAIR_TERMS_INL_H_
#else
#define SURROGATE_LOSSES_PAIR_TERMS_INL_H_
#endif

#include <hwy/cache_control.h>

#include "kernels/base/join_lanes-inl.h"
#include "kernels/base/point_sum-inl.h"
#include "kernels/losses/pair_loss.hpp"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::losses::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using namespace surrogate::kernels::HWY_NAMESPACE;

/// Embeddings, and the constants of a similarity.
struct Terms {
    const float* data;
    /// row: stride of rows in elements; n_lane: channels, rounded up to lanes
    int64_t row, n_lane;
    float inverse_tau;    ///< 1 / tau
    float inverse_width;  ///< 1 / (2 sigma^2)
    float exponent;       ///< -log2(e) / (2 sigma^2)

    Terms(const Similarity& similarity, Embedding<const float> e)
        : data(e.data), row(e.stride[0]), n_lane(round_up(e.shape[1], lane_count)) {
        const double width = 2 * similarity.sigma * similarity.sigma;
        inverse_tau = static_cast<float>(1 / similarity.tau);
        inverse_width = static_cast<float>(1 / width);
        exponent = static_cast<float>(-1.4426950408889634 / width);
    }
};

/// lane_count pairs (u, point[i]) and their results.
struct Group {
    alignas(64) int32_t point[lane_count];
    alignas(64) float t[lane_count];
    alignas(64) float slope[lane_count];  ///< dt / de_u = slope (e_u - e_v), or slope e_v
    alignas(64) float x[lane_count];      ///< 0 from n on
    int64_t n;                            ///< number of pairs; beyond them the last one is repeated

    HWY_INLINE void read(const int32_t* list, int64_t n_left) {
        n = n_left < lane_count ? n_left : lane_count;
        for (int64_t i = 0; i < lane_count; ++i) point[i] = list[i < n ? i : n - 1];
    }
};

/// Prefetches the embeddings of the group after the one at pair k: points are at arbitrary
/// addresses, which a hardware prefetcher cannot predict.
HWY_INLINE void prefetch(const Terms& terms, const PairRows& pairs, int64_t n_pair, int64_t k) {
    if (k + 2 * lane_count > n_pair) return;
    for (int64_t i = 0; i < lane_count; ++i)
        hwy::Prefetch(terms.data + pairs.point[k + lane_count + i] * terms.row);
}

/// Computes sums over the channels of rows u and v: of products, or of squares of differences.
template <Likeness likeness, bool is_narrow>
HWY_INLINE void join_group(const Terms& terms, int64_t u, const Group& group, float* sums) {
    const float* own = terms.data + u * terms.row;
    const auto lanes = [&](int64_t i) HWY_ATTR {
        const float* other = terms.data + group.point[i] * terms.row;
        Lanes sum;
#pragma GCC unroll 16
        for (int j = 0; j < n_part; ++j) sum.part[j] = broadcast(0.0f);
        const int64_t end = is_narrow ? lane_count : terms.n_lane;
        for (int64_t c = 0; c < end; c += lane_count) {
#pragma GCC unroll 16
            for (int j = 0; j < n_part; ++j) {
                const Vector a = load(own + c + j * width), b = load(other + c + j * width);
                const Vector difference = hn::Sub(a, b);
                sum.part[j] = likeness == Likeness::cosine
                                  ? mul_add(a, b, sum.part[j])
                                  : mul_add(difference, difference, sum.part[j]);
            }
        }
        return sum;
    };
    join_channels(lanes, sums);
}

/// Returns v, or NaN where `from` is NaN: powers of NaN are arbitrary.
HWY_INLINE Vector keep_nan(Vector v, Vector from) {
    return hn::IfThenElse(hn::Eq(from, from), v, from);
}

/// Computes t of the group's pairs; with_slope: slope too.
template <Likeness likeness, bool is_narrow, bool with_slope>
HWY_INLINE void similarities(const Terms& terms, int64_t u, Group& group) {
    alignas(64) float sums[lane_count];
    join_group<likeness, is_narrow>(terms, u, group, sums);
    for (int j = 0; j < n_part; ++j) {
        const Vector sum = load(sums + j * width), inverse_tau = broadcast(terms.inverse_tau);
        Vector t, slope;
        if constexpr (likeness == Likeness::cosine) {
            t = hn::Mul(sum, inverse_tau);
            slope = inverse_tau;
        } else {
            const Vector r = hn::Sqrt(sum), divisor = at_least(broadcast(0x1p-60f), r);
            if constexpr (likeness == Likeness::l2_rbf) {
                const Vector power =
                    at_least(broadcast(lowest_power), hn::Mul(r, broadcast(terms.exponent)));
                t = keep_nan(hn::Mul(power_of_two(power), inverse_tau), r);
                slope = hn::Mul(t, broadcast(-terms.inverse_width));
            } else {
                const Vector above = hn::Add(broadcast(1.0f), r);
                t = hn::Div(inverse_tau, above);
                slope = hn::Neg(hn::Div(t, above));
            }
            if constexpr (with_slope) slope = hn::Div(slope, divisor);
        }
        store(t, group.t + j * width);
        if constexpr (with_slope) store(slope, group.slope + j * width);
    }
}

/// Computes x from t.
HWY_INLINE void exponentials(float m, Group& group) {
    constexpr float log2_e = 1.442695041f;
    constexpr auto least = static_cast<float>(least_exponent) * log2_e;
    for (int j = 0; j < n_part; ++j) {
        const Vector t = load(group.t + j * width);
        const Vector power = hn::Mul(hn::Sub(t, broadcast(m)), broadcast(log2_e));
        const Vector x = keep_nan(power_of_two(at_least(broadcast(least), power)), t);
        store(first_lanes(x, group.n - j * width), group.x + j * width);
    }
}

using WideTag = hn::ScalableTag<double>;
using Wide = hn::Vec<WideTag>;
using HalfTag = hn::Rebind<float, WideTag>;
constexpr int64_t wide_width = static_cast<int64_t>(HWY_LANES(double));
constexpr int n_wide = static_cast<int>(lane_count / wide_width);

HWY_INLINE Wide promote(const float* from) {
    return hn::PromoteTo(WideTag(), hn::LoadU(HalfTag(), from));
}

/// Holds lane_count sums in double: number i of every group is added to sum i.
class WideSums {
public:
    WideSums() {
        for (Wide& part : part_) part = hn::Zero(WideTag());
    }
    HWY_INLINE void add(const float* x) {
#pragma GCC unroll 16
        for (int j = 0; j < n_wide; ++j) part_[j] = hn::Add(part_[j], promote(x + j * wide_width));
    }
    /// Returns the sum of all lanes: lane l adds l + 8, then l + 4, l + 2 and l + 1.
    double join() const {
        alignas(64) double lane[lane_count];
        for (int j = 0; j < n_wide; ++j) hn::StoreU(part_[j], WideTag(), lane + j * wide_width);
        for (int64_t n = lane_count / 2; n > 0; n /= 2) {
            for (int64_t l = 0; l < n; ++l) lane[l] += lane[l + n];
        }
        return lane[0];
    }

private:
    Wide part_[n_wide];
};

/// Adds total(c) += sum over the group of factor slope (e_u - e_v)(c), or of factor slope e_v(c).
/// Pairs are added to four sums in turn, which are added up in float, so that their errors do not
/// grow with the row.
template <Likeness likeness>
HWY_INLINE void add_gradient(const Terms& terms, int64_t u, const Group& group, const float* factor,
                             double* total) {
    alignas(64) float weight[lane_count], sums[lane_count];
    for (int j = 0; j < n_part; ++j) {
        const Vector product = hn::Mul(load(factor + j * width), load(group.slope + j * width));
        store(product, weight + j * width);
    }
    for (int64_t c = 0; c < terms.n_lane; c += lane_count) {
        for (int j = 0; j < n_part; ++j) {
            const int64_t at = c + j * width;
            const Vector own = load(terms.data + u * terms.row + at);
            Vector sum[4];
            for (Vector& part : sum) part = broadcast(0.0f);
#pragma GCC unroll 16
            for (int i = 0; i < static_cast<int>(lane_count); ++i) {
                const Vector other = load(terms.data + group.point[i] * terms.row + at);
                const Vector value = likeness == Likeness::cosine ? other : hn::Sub(own, other);
                sum[i % 4] = mul_add(broadcast(weight[i]), value, sum[i % 4]);
            }
            store(hn::Add(hn::Add(sum[0], sum[2]), hn::Add(sum[1], sum[3])), sums + j * width);
        }
        for (int64_t j = 0; j < lane_count; j += wide_width) {
            double* to = total + c + j;
            const Wide before = hn::LoadU(WideTag(), to);
            hn::StoreU(hn::Add(before, promote(sums + j)), WideTag(), to);
        }
    }
}

}  // namespace
}  // namespace surrogate::kernels::losses::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
