// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/losses/pair_loss_simd.cpp"
#include <hwy/foreach_target.h>

#include <algorithm>
#include <limits>

#include "kernels/losses/pair_terms-inl.h"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::losses::HWY_NAMESPACE {
namespace {

template <Likeness likeness, bool is_narrow>
float largest_similarity(const Terms& terms, const PairRows& pairs, RowRange range) {
    Vector largest[n_part];
    for (Vector& part : largest) part = broadcast(-std::numeric_limits<float>::infinity());
    Group group;
    for (int64_t u = range.first; u < range.end; ++u) {
        for (int64_t k = pairs.offset[u]; k < pairs.offset[u + 1]; k += lane_count) {
            group.read(pairs.point + k, pairs.offset[u + 1] - k);
            similarities<likeness, is_narrow, false>(terms, u, group);
            for (int j = 0; j < n_part; ++j)
                largest[j] = at_least(largest[j], load(group.t + j * width));
        }
    }
    alignas(64) float lane[lane_count];
    for (int j = 0; j < n_part; ++j) store(largest[j], lane + j * width);
    return *std::max_element(lane, lane + lane_count);
}

template <Likeness likeness, bool is_narrow>
double negative_sum(const Terms& terms, const PairRows& pairs, float m, int64_t u) {
    WideSums sum;
    Group group;
    const int64_t n_pair = pairs.n_pair();
    for (int64_t k = pairs.offset[u]; k < pairs.positive[u]; k += lane_count) {
        group.read(pairs.point + k, pairs.positive[u] - k);
        prefetch(terms, pairs, n_pair, k);
        similarities<likeness, is_narrow, false>(terms, u, group);
        exponentials(m, group);
        sum.add(group.x);
    }
    return sum.join();
}

template <Likeness likeness, bool is_narrow>
void pair_sums(const Terms& terms, const PairRows& pairs, RowRange range, float m,
               const PairSums<float>& sums, double* loss) {
    Group group;
    for (int64_t u = range.first; u < range.end; ++u) {
        const double negative = negative_sum<likeness, is_narrow>(terms, pairs, m, u);
        double sum = 0, slope = 0;
        for (int64_t k = pairs.positive[u]; k < pairs.offset[u + 1]; k += lane_count) {
            group.read(pairs.point + k, pairs.offset[u + 1] - k);
            similarities<likeness, is_narrow, false>(terms, u, group);
            exponentials(m, group);
            for (int64_t i = 0; i < group.n; ++i) {
                const auto x = static_cast<double>(group.x[i]);
                sum += std::log1p(negative / x);
                slope += 1 / (x + negative);
            }
        }
        const auto weight = static_cast<double>(sums.weight[u]);
        sums.negative[u] = static_cast<float>(negative);
        sums.slope[u] = static_cast<float>(weight * slope);
        loss[u] = weight * sum;
    }
}

/// Writes the factor of dt / de of each pair of a group to `factor`; lanes without a pair get 0.
HWY_INLINE void negative_factors(const Group& group, const PairSums<const float>& sums,
                                 PairSide side, int64_t p, float* factor) {
    const float own = side == PairSide::second ? 0.0f : sums.slope[p];
    alignas(64) float other[lane_count] = {};
    if (side != PairSide::first) {
        for (int64_t i = 0; i < lane_count; ++i) other[i] = sums.slope[group.point[i]];
    }
    for (int j = 0; j < n_part; ++j) {
        const Vector both = hn::Add(broadcast(own), load(other + j * width));
        store(hn::Mul(load(group.x + j * width), both), factor + j * width);
    }
}

HWY_INLINE void positive_factors(const Group& group, const PairSums<const float>& sums,
                                 PairSide side, int64_t p, float* factor) {
    const auto share = [&](float x, int64_t u) {
        return sums.weight[u] * sums.negative[u] / (x + sums.negative[u]);
    };
    for (int64_t i = 0; i < lane_count; ++i) {
        float both = 0;
        if (i < group.n && side != PairSide::second) both -= share(group.x[i], p);
        if (i < group.n && side != PairSide::first) both -= share(group.x[i], group.point[i]);
        factor[i] = both;
    }
}

template <Likeness likeness, bool is_narrow>
void pair_gradient(const Terms& terms, const PairRows& pairs, RowRange range, PairSide side,
                   float m, const PairSums<const float>& sums, Embedding<float> de) {
    Group group;
    alignas(64) float factor[lane_count];
    alignas(64) double total[most_channels];
    const int64_t n_pair = pairs.n_pair();
    for (int64_t p = range.first; p < range.end; ++p) {
        std::fill(total, total + terms.n_lane, 0.0);
        const auto add = [&](int64_t k, int64_t end, bool is_positive) HWY_ATTR {
            group.read(pairs.point + k, end - k);
            prefetch(terms, pairs, n_pair, k);
            similarities<likeness, is_narrow, true>(terms, p, group);
            exponentials(m, group);
            if (is_positive) {
                positive_factors(group, sums, side, p, factor);
            } else {
                negative_factors(group, sums, side, p, factor);
            }
            add_gradient<likeness>(terms, p, group, factor, total);
        };
        for (int64_t k = pairs.offset[p]; k < pairs.positive[p]; k += lane_count)
            add(k, pairs.positive[p], false);
        for (int64_t k = pairs.positive[p]; k < pairs.offset[p + 1]; k += lane_count)
            add(k, pairs.offset[p + 1], true);
        float* to = &de(p, 0);
        for (int64_t c = 0; c < de.shape[1]; ++c)
            to[c] = static_cast<float>(static_cast<double>(to[c]) + total[c]);
    }
}

/// Calls body(likeness, is_narrow) with both as compile-time constants.
template <class Body>
auto with_kind(const Similarity& similarity, const Terms& terms, const Body& body) {
    const auto with_width = [&](auto likeness) {
        return terms.n_lane == lane_count ? body(likeness, std::true_type())
                                          : body(likeness, std::false_type());
    };
    switch (similarity.likeness) {
        case Likeness::l2_inverse:
            return with_width(std::integral_constant<Likeness, Likeness::l2_inverse>());
        case Likeness::cosine:
            return with_width(std::integral_constant<Likeness, Likeness::cosine>());
        default: return with_width(std::integral_constant<Likeness, Likeness::l2_rbf>());
    }
}

float largest_of(const Similarity& similarity, Embedding<const float> e, const PairRows& pairs,
                 RowRange range) {
    const Terms terms(similarity, e);
    return with_kind(similarity, terms, [&](auto likeness, auto is_narrow) {
        return largest_similarity<likeness(), is_narrow()>(terms, pairs, range);
    });
}

void sums_of(const Similarity& similarity, Embedding<const float> e, const PairRows& pairs,
             RowRange range, float m, const PairSums<float>& sums, double* loss) {
    const Terms terms(similarity, e);
    with_kind(similarity, terms, [&](auto likeness, auto is_narrow) {
        pair_sums<likeness(), is_narrow()>(terms, pairs, range, m, sums, loss);
    });
}

void gradient_of(const Similarity& similarity, Embedding<const float> e, const PairRows& pairs,
                 RowRange range, PairSide side, float m, const PairSums<const float>& sums,
                 Embedding<float> de) {
    const Terms terms(similarity, e);
    with_kind(similarity, terms, [&](auto likeness, auto is_narrow) {
        pair_gradient<likeness(), is_narrow()>(terms, pairs, range, side, m, sums, de);
    });
}

}  // namespace
}  // namespace surrogate::kernels::losses::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace surrogate::kernels::losses::simd {

float largest_similarity(VectorLevel level, const Similarity& similarity, Embedding<const float> e,
                         const PairRows& pairs, RowRange range) {
    return SURROGATE_AT_LEVEL(level, largest_of)(similarity, e, pairs, range);
}

void pair_sums(VectorLevel level, const Similarity& similarity, Embedding<const float> e,
               const PairRows& pairs, RowRange range, float m, const PairSums<float>& sums,
               double* loss) {
    SURROGATE_AT_LEVEL(level, sums_of)(similarity, e, pairs, range, m, sums, loss);
}

void pair_gradient(VectorLevel level, const Similarity& similarity, Embedding<const float> e,
                   const PairRows& pairs, RowRange range, PairSide side, float m,
                   const PairSums<const float>& sums, Embedding<float> de) {
    SURROGATE_AT_LEVEL(level, gradient_of)(similarity, e, pairs, range, side, m, sums, de);
}

}  // namespace surrogate::kernels::losses::simd
#endif
