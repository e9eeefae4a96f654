// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention/attention_backward_simd.cpp"
#include <hwy/foreach_target.h>

#include <algorithm>
#include <cmath>

#include "kernels/attention/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::HWY_NAMESPACE {
namespace {

constexpr float ln_2 = 0.6931471806f;

/// Statistics of the queries: logarithms of sums, lower limits of the scores beside them, and
/// delta. Each is (n_lane) if lanes are queries, (n_row) if rows are queries.
struct OfQueries {
    const float *log_sum, *lowest, *delta;
};

/// Statistics of one row and one vector of lanes.
template <bool lanes_are_queries>
HWY_INLINE Vector element(const float* of, int64_t r, int j) {
    return lanes_are_queries ? load(of + j * width) : broadcast(of[r]);
}

/// Writes log_sum - log2(w) and the lower limit of scores beside it, (n) each; both buffers are
/// padded to whole vectors. The weight of keys counts as part of their scores, so that powers are
/// never above 1.
void shift_sums(const float* log_sum, int64_t n, float log_weight, float* shifted, float* lowest) {
    for (int64_t i = 0; i < n; i += width) {
        const Vector sum = hn::Sub(load(log_sum + i), broadcast(log_weight));
        store(sum, shifted + i);
        store(lowest_beside(sum), lowest + i);
    }
}

/// The two factors of both products: scores are <a, b>, gradients of weights are <da, db>.
struct Factors {
    Rows a, da;  // (n_dim, lanes)
    Rows b, db;  // (n_dim, rows)

    Factors from(int64_t lane, int64_t row) const {
        return {a.from(lane), da.from(lane), b.from(row), db.from(row)};
    }
};

/// Computes the scores of rows [first, end), `size` at a time.
template <int size, int n_vector, bool is_biased>
HWY_NOINLINE void score_rows(Rows a, Rows b, int64_t first, int64_t end, const Bias& bias,
                             float* scores) {
    compute_scores<size, n_vector, is_biased>(a, b, first, end, bias, scores,
                                              [](int, Vector) HWY_ATTR {});
}

/// Replaces the scores of n_row rows by p = 2^(s - log_sum). Scores of lanes in the padding are
/// arbitrary; p stays within 2^-80 and 1 for any score.
template <Powers way, int n_row, int n_vector, bool lanes_are_queries>
HWY_INLINE void weigh_rows_again(const OfQueries& of, int64_t row, float* scores) {
    constexpr int n = n_row * n_vector;
    Vector x[n];
#pragma GCC unroll 8
    for (int i = 0; i < n; ++i) {
        const int64_t r = row + i / n_vector;
        const Vector lowest = element<lanes_are_queries>(of.lowest, r, i % n_vector),
                     log_sum = element<lanes_are_queries>(of.log_sum, r, i % n_vector);
        const Vector below = hn::Sub(at_least(lowest, load(scores + i * width)), log_sum);
        x[i] = at_most(broadcast(0.0f), at_least(broadcast(lowest_weight), below));
    }
    powers_of_two<way>(x);
#pragma GCC unroll 8
    for (int i = 0; i < n; ++i) store(x[i], scores + i * width);
}

template <Powers way, int n_vector, bool lanes_are_queries>
HWY_NOINLINE void weigh_again(const OfQueries& of, int64_t n, float* scores) {
    constexpr int n_row = width == 16 && way == Powers::by_integers ? 4 : 2;  // as in weigh_keys()
    int64_t r = 0;
    for (; r + n_row <= n; r += n_row)
        weigh_rows_again<way, n_row, n_vector, lanes_are_queries>(of, r,
                                                                  scores + r * n_vector * width);
    for (; r < n; ++r)
        weigh_rows_again<way, 1, n_vector, lanes_are_queries>(of, r, scores + r * n_vector * width);
}

/// Computes ds = p (<da, db> - delta) of rows [first, end), `size` at a time.
template <int size, int n_vector, bool lanes_are_queries>
HWY_NOINLINE void slope_rows(Rows da, Rows db, const OfQueries& of, int64_t first, int64_t end,
                             const float* p, float* ds) {
    for (; first < end; first += size) {
        Vector sum[size][n_vector];
#pragma GCC unroll 8
        for (int r = 0; r < size; ++r) {
#pragma GCC unroll 2
            for (int j = 0; j < n_vector; ++j)
                sum[r][j] =
                    hn::Sub(broadcast(0.0f), element<lanes_are_queries>(of.delta, first + r, j));
        }
        add_products(da, db.data + first, db.row, sum);
#pragma GCC unroll 8
        for (int r = 0; r < size; ++r) {
#pragma GCC unroll 2
            for (int j = 0; j < n_vector; ++j) {
                const int64_t at = ((first + r) * n_vector + j) * width;
                store(hn::Mul(load(p + at), sum[r][j]), ds + at);
            }
        }
    }
}

/// Computes p and ds (n, lanes) of n rows.
template <int n_vector, bool lanes_are_queries>
void find_slopes(const Factors& factors, int64_t n, const OfQueries& of, const Bias& bias, float* p,
                 float* ds) {
    for_register_rows(n, [&](int64_t first, int64_t end, auto n_row) HWY_ATTR {
        constexpr int size = decltype(n_row)::value;
        (bias.distance
             ? score_rows<size, n_vector, true>
             : score_rows<size, n_vector, false>)(factors.a, factors.b, first, end, bias, p);
    });
    with_fast_powers([&](auto way) HWY_ATTR {
        weigh_again<decltype(way)::value, n_vector, lanes_are_queries>(of, n, p);
    });
    for_register_rows(n, [&](int64_t first, int64_t end, auto size) HWY_ATTR {
        slope_rows<decltype(size)::value, n_vector, lanes_are_queries>(factors.da, factors.db, of,
                                                                       first, end, p, ds);
    });
}

/// Returns the sum over n keys and the first n_query lanes of ds distance. It is added along keys
/// in float, along lanes in double, both in order.
template <int n_vector>
double factor_gradient(const float* ds, const Bias& bias, int64_t n, int64_t n_query) {
    constexpr int64_t n_lane = n_vector * width;
    alignas(64) float lane[n_lane];
    for (int j = 0; j < n_vector; ++j) {
        Vector sum = broadcast(0.0f);
        for (int64_t r = 0; r < n; ++r)
            sum = mul_add(load(ds + r * n_lane + j * width),
                          load(bias.distance + r * bias.row + j * width), sum);
        store(sum, lane + j * width);
    }
    double total = 0;
    for (int64_t i = 0; i < std::min(n_lane, n_query); ++i) total += static_cast<double>(lane[i]);
    return total;
}

/// Adds factor * ds (n, lanes) to the rows from `first` of the slopes of distances.
template <int n_vector>
void add_slopes(const float* ds, float factor, int64_t n, Tile<float> slope, int64_t first,
                int64_t lane) {
    if (!slope.data) return;
    for (int64_t r = 0; r < n; ++r) {
        for (int j = 0; j < n_vector; ++j) {
            float* const to = &slope(first + r, lane + j * width);
            store(mul_add(load(ds + (r * n_vector + j) * width), broadcast(factor), load(to)), to);
        }
    }
}

void attend_backward_queries(const Heads& heads, const AttendGradient<float>& of,
                             Tile<const float> k, Tile<const float> v,
                             const DistanceBias<float>& bias, float* scratch, Tile<float> dq,
                             double* dfactor) {
    const int64_t n_head = heads.n_head, d = heads.n_key_dim, e = heads.n_value_dim;
    const int64_t n_key = k.shape[1], n_query = of.q.shape[1];
    if (of.key_weight == 0) return;
    const auto log_weight = static_cast<float>(std::log2(static_cast<double>(of.key_weight)));
    float *p = scratch, *ds = scratch + most_vectors * width * max_keys;
    for (int64_t h = 0; h < n_head; ++h) {
        const Factors all{rows_of_head(of.q, h, d), rows_of_head(of.dy, h, e),
                          rows_of_head(k, h, d), rows_of_head(v, h, e)};
        const Bias added = bias_of_head(bias, h);
        double factor_sum = 0;
        for (int64_t first = 0; first < n_key; first += max_keys) {
            const int64_t count = std::min(max_keys, n_key - first);
            for_lanes(round_up(n_query, lane_count), [&](int64_t i, auto n) HWY_ATTR {
                constexpr int n_vector = decltype(n)::value;
                const Factors factors = all.from(i, first);
                const Bias at = added.from(first, i);
                alignas(64) float log_sum[n_vector * width], lowest[n_vector * width];
                shift_sums(&of.log_sum(h, i), n_vector * width, log_weight, log_sum, lowest);
                const OfQueries queries{log_sum, lowest, &of.delta(h, i)};
                find_slopes<n_vector, true>(factors, count, queries, at, p, ds);
                gather<n_vector, false>(ds, factors.b, count,
                                        {&dq(h * d, i), dq.stride[0], nullptr, ln_2});
                add_slopes<n_vector>(ds, added.factor, count, bias.slope, first, i);
                if (dfactor && bias.factor)
                    factor_sum += factor_gradient<n_vector>(ds, at, count, n_query - i);
            });
        }
        if (dfactor) dfactor[h] += factor_sum * 0.69314718055994531;
    }
}

void attend_backward_keys(const Heads& heads, const AttendGradient<float>& of, Tile<const float> k,
                          Tile<const float> v, const DistanceBias<float>& bias, float* scratch,
                          Tile<float> dk, Tile<float> dv) {
    const int64_t n_head = heads.n_head, d = heads.n_key_dim, e = heads.n_value_dim;
    const int64_t n_key = k.shape[1], n_query = of.q.shape[1];
    if (of.key_weight == 0) return;
    const auto log_weight = static_cast<float>(std::log2(static_cast<double>(of.key_weight)));
    float *p = scratch, *ds = scratch + most_vectors * width * max_keys;
    for (int64_t h = 0; h < n_head; ++h) {
        const Factors all{rows_of_head(k, h, d), rows_of_head(v, h, e), rows_of_head(of.q, h, d),
                          rows_of_head(of.dy, h, e)};
        const Bias added = bias_of_head(bias, h);
        for (int64_t first = 0; first < n_query; first += max_keys) {
            const int64_t count = std::min(max_keys, n_query - first);
            alignas(64) float log_sum[max_keys], lowest[max_keys];
            shift_sums(&of.log_sum(h, first), count, log_weight, log_sum, lowest);
            for_lanes(round_up(n_key, lane_count), [&](int64_t j, auto n) HWY_ATTR {
                constexpr int n_vector = decltype(n)::value;
                const Factors factors = all.from(j, first);
                const OfQueries queries{log_sum, lowest, &of.delta(h, first)};
                find_slopes<n_vector, false>(factors, count, queries, added.from(first, j), p, ds);
                gather<n_vector, false>(ds, factors.b, count,
                                        {&dk(h * d, j), dk.stride[0], nullptr, ln_2});
                add_slopes<n_vector>(ds, added.factor, count, bias.slope, first, j);
                gather<n_vector, false>(p, factors.db, count,
                                        {&dv(h * e, j), dv.stride[0], nullptr, 1.0f});
            });
        }
    }
}

void attend_delta(const Heads& heads, Tile<const float> y, Tile<const float> dy,
                  Tile<float> delta) {
    const int64_t e = heads.n_value_dim;
    for (int64_t h = 0; h < heads.n_head; ++h) {
        for (int64_t i = 0; i < round_up(y.shape[1], lane_count); i += width) {
            Vector sum = broadcast(0.0f);
            for (int64_t c = h * e; c < (h + 1) * e; ++c)
                sum = mul_add(load(&dy(c, i)), load(&y(c, i)), sum);
            store(sum, &delta(h, i));
        }
    }
}

}  // namespace
}  // namespace surrogate::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace surrogate::kernels::simd {

void attend_delta(VectorLevel level, const Heads& heads, Tile<const float> y, Tile<const float> dy,
                  Tile<float> delta) {
    SURROGATE_AT_LEVEL(level, attend_delta)(heads, y, dy, delta);
}

void attend_backward_queries(VectorLevel level, const Heads& heads, const AttendGradient<float>& of,
                             Tile<const float> k, Tile<const float> v,
                             const DistanceBias<float>& bias, float* scratch, Tile<float> dq,
                             double* dfactor) {
    SURROGATE_AT_LEVEL(level, attend_backward_queries)
    (heads, of, k, v, bias, scratch, dq, dfactor);
}

void attend_backward_keys(VectorLevel level, const Heads& heads, const AttendGradient<float>& of,
                          Tile<const float> k, Tile<const float> v, const DistanceBias<float>& bias,
                          float* scratch, Tile<float> dk, Tile<float> dv) {
    SURROGATE_AT_LEVEL(level, attend_backward_keys)(heads, of, k, v, bias, scratch, dk, dv);
}

}  // namespace surrogate::kernels::simd
#endif
