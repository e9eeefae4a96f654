// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention/attention_simd.cpp"
#include <hwy/foreach_target.h>

#include <algorithm>
#include <cmath>

#include "kernels/attention/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::HWY_NAMESPACE {
namespace {

/// Returns the largest |x|, padding included; NaN if a number is not finite.
float largest_of(Tile<const float> x) {
    return largest_size(x.data, x.stride[0], x.shape[0], round_up(x.shape[1], lane_count));
}

/// Returns an upper limit of |bias| of one head, or NaN.
double largest_bias(const DistanceBias<float>& bias, int64_t h, float largest_distance) {
    if (!bias.factor) return 0;
    return std::abs(static_cast<double>(bias.factor[h])) * static_cast<double>(largest_distance);
}

/// Heads from this width on have enough products per score for larger register blocks; and one more
/// operation per score is cheaper for them than a pass over the channels (attention.md).
constexpr int64_t wide_dims = 24;

/// Extent of the scores over the keys of a block: the largest score, and, if scores may be NaN, a
/// taint that is 0, or NaN if a score is NaN. The exponential alone would not propagate every NaN
/// (flare.md).
template <int n_vector>
struct Extent {
    Vector maximum[n_vector], taint[n_vector];
};

/// Computes S(j, lane) of keys [first, end), `size` at a time. The loop over blocks is here, so
/// that the extent stays in registers.
template <int size, int n_vector, bool is_biased, bool is_careful>
HWY_NOINLINE void score_blocks(Rows q, Rows k, int64_t first, int64_t end, const Bias& bias,
                               float* scores, Extent<n_vector>& total) {
    Extent<n_vector> extent = total;
    compute_scores<size, n_vector, is_biased>(
        q, k, first, end, bias, scores, [&](int j, Vector s) HWY_ATTR {
            extent.maximum[j] = at_least(s, extent.maximum[j]);  // NaN: no maximum
            if constexpr (is_careful)
                extent.taint[j] = mul_add(s, broadcast(0.0f), extent.taint[j]);
        });
    total = extent;
}

/// Computes all scores; raises `maximum` and sets `taint`.
template <int n_vector, bool is_biased, bool is_careful>
HWY_NOINLINE void score_keys(Rows q, Rows k, int64_t n_key, const Bias& bias, float* scores,
                             float* maximum, float* taint) {
    Extent<n_vector> extent;
    for (int j = 0; j < n_vector; ++j) {
        extent.maximum[j] = load(maximum + j * width);
        extent.taint[j] = broadcast(0.0f);
    }
    const auto score = [&](int64_t first, int64_t end, auto size) HWY_ATTR {
        score_blocks<decltype(size)::value, n_vector, is_biased, is_careful>(q, k, first, end, bias,
                                                                             scores, extent);
    };
    if (q.n_dim >= wide_dims)
        for_wide_rows(n_key, score);
    else
        for_register_rows(n_key, score);
    for (int j = 0; j < n_vector; ++j) {
        store(extent.maximum[j], maximum + j * width);
        store(extent.taint[j], taint + j * width);
    }
}

/// Running softmax of n_lane queries of one head.
struct Lanes {
    float *maximum, *sum, *value;
};

template <int n_vector>
void attend_block(Rows q, Rows k, Rows v, int64_t n_key, float w, const Bias& bias, float lowest,
                  float* scores, Lanes state) {
    constexpr int64_t n_lane = n_vector * width;
    alignas(64) float maximum[n_lane], rescale[n_lane], sum[n_lane], taint[n_lane];
    for (int64_t j = 0; j < n_lane; j += width) store(load(state.maximum + j), maximum + j);
    const bool is_careful = lowest == any_score;
    const auto score = bias.distance ? is_careful ? score_keys<n_vector, true, true>
                                                  : score_keys<n_vector, true, false>
                       : is_careful ? score_keys<n_vector, false, true>
                                     : score_keys<n_vector, false, false>;
    score(q, k, n_key, bias, scores, maximum, taint);
    weigh_block<n_vector>(n_key, scores, maximum, state.maximum, rescale, sum, lowest_weight,
                          lowest);
    for (int64_t j = 0; j < n_lane; j += width) {
        const Vector old = mul_add(load(state.sum + j), load(rescale + j), load(taint + j));
        store(mul_add(load(sum + j), broadcast(w), old), state.sum + j);
    }
    gather<n_vector, true>(scores, v, n_key, {state.value, tile_points, rescale, w});
}

void attend(const Heads& heads, Tile<const float> q, Tile<const float> k, Tile<const float> v,
            float w, const DistanceBias<float>& bias, float* scratch, SoftmaxState<float> state) {
    if (w == 0) return;
    const float distance = bias.factor ? largest_of(bias.distance) : 0;
    const int64_t n_key = k.shape[1], n_query = round_up(q.shape[1], lane_count);
    for (int64_t h = 0; h < heads.n_head; ++h) {
        const Rows queries = rows_of_head(q, h, heads.n_key_dim),
                   keys = rows_of_head(k, h, heads.n_key_dim),
                   values = rows_of_head(v, h, heads.n_value_dim);
        const Bias added = bias_of_head(bias, h);
        const float lowest =
            heads.n_key_dim >= wide_dims
                ? any_score
                : least_score(queries.data, queries.row, heads.n_key_dim, n_query,
                              largest_size(keys.data, keys.row, heads.n_key_dim, n_key),
                              largest_bias(bias, h, distance));
        for (int64_t first = 0; first < n_key; first += max_keys) {
            const int64_t count = std::min(max_keys, n_key - first);
            for_lanes(n_query, [&](int64_t i, auto n) HWY_ATTR {
                attend_block<decltype(n)::value>(
                    queries.from(i), keys.from(first), values.from(first), count, w,
                    added.from(first, i), lowest, scratch,
                    {state.maximum(h) + i, state.sum(h) + i, state.value(h) + i});
            });
        }
    }
}

void log_sums(SoftmaxState<float> state, Tile<float> log_sum) {
    const Vector zero = broadcast(0.0f), one = broadcast(1.0f);
    for (int64_t h = 0; h < state.heads.n_head; ++h) {
        float* to = log_sum.data + h * log_sum.stride[0];
        for (int64_t i = 0; i < round_up(log_sum.shape[1], lane_count); i += width) {
            const Vector sum = load(state.sum(h) + i);
            const Vector log = log_two(hn::IfThenElse(hn::Gt(sum, zero), sum, one));
            // A NaN in the sum is kept.
            const Vector taint = hn::Mul(sum, zero);
            store(hn::Add(hn::Add(load(state.maximum(h) + i), log), taint), to + i);
        }
    }
}

}  // namespace
}  // namespace surrogate::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace surrogate::kernels::simd {

void attend(VectorLevel level, const Heads& heads, Tile<const float> q, Tile<const float> k,
            Tile<const float> v, float w, const DistanceBias<float>& bias, float* scratch,
            SoftmaxState<float> state) {
    SURROGATE_AT_LEVEL(level, attend)(heads, q, k, v, w, bias, scratch, state);
}

void log_sums(VectorLevel level, SoftmaxState<float> state, Tile<float> log_sum) {
    SURROGATE_AT_LEVEL(level, log_sums)(state, log_sum);
}

}  // namespace surrogate::kernels::simd
#endif
