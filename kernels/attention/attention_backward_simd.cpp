// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention/attention_backward_simd.cpp"
#include <hwy/foreach_target.h>

#include <algorithm>

#include "kernels/attention/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::HWY_NAMESPACE {
namespace {

constexpr float ln_2 = 0.6931471806f;

/// Logarithms of sums, and the lowest scores beside them that count. Scores of lanes in the padding
/// are garbage: whatever they are, 2^(s - log_sum) stays within 2^-125 and 1.
struct Limit {
    Vector log_sum, lowest;

    explicit Limit(Vector log) : log_sum(log), lowest(lowest_beside(log)) {}
    HWY_INLINE Vector exponent(Vector score) const {
        const Vector x = hn::Sub(at_least(lowest, score), log_sum);
        return at_most(broadcast(0.0f), at_least(broadcast(lowest_power), x));
    }
};

/// Lanes are queries, rows are keys. What it knows of queries lies in vectors.
struct OfQueries {
    const float *log_sum, *delta;  // (n_lane)

    HWY_INLINE Limit limit(int64_t, int j) const { return Limit(load(log_sum + j * width)); }
    HWY_INLINE Vector delta_of(int64_t, int j) const { return load(delta + j * width); }
};

/// Lanes are keys, rows are queries.
struct OfKeys {
    const float *log_sum, *delta;  // (n_row)

    HWY_INLINE Limit limit(int64_t r, int) const { return Limit(broadcast(log_sum[r])); }
    HWY_INLINE Vector delta_of(int64_t r, int) const { return broadcast(delta[r]); }
};

/// The two factors of both products: scores are <a, b>, gradients of weights <da, db>.
struct Factors {
    Rows a, da;  // (n_dim, lanes)
    Rows b, db;  // (n_dim, rows)

    Factors from(int64_t lane, int64_t row) const {
        return {a.from(lane), da.from(lane), b.from(row), db.from(row)};
    }
};

/// p and ds of n_row rows, (n_row, n_lane) each.
template <int n_row, int n_vector, bool is_biased, class Of>
HWY_NOINLINE void weigh_rows_again(const Factors& factors, int64_t at, const Of& of,
                                   const Bias& bias, float* p, float* ds) {
    Vector x[n_row][n_vector], gradient[n_row][n_vector];
    start_scores<is_biased>(bias, x);
    add_products(factors.a, factors.b.data + at, factors.b.row, x);
    Vector power[n_row * n_vector];
#pragma GCC unroll 8
    for (int r = 0; r < n_row; ++r) {
#pragma GCC unroll 2
        for (int j = 0; j < n_vector; ++j)
            power[r * n_vector + j] = of.limit(at + r, j).exponent(x[r][j]);
    }
    powers_of_two(power);
#pragma GCC unroll 8
    for (int r = 0; r < n_row; ++r) {
#pragma GCC unroll 2
        for (int j = 0; j < n_vector; ++j) {
            store(power[r * n_vector + j], p + (r * n_vector + j) * width);
            gradient[r][j] = hn::Sub(broadcast(0.0f), of.delta_of(at + r, j));
        }
    }
    add_products(factors.da, factors.db.data + at, factors.db.row, gradient);
#pragma GCC unroll 8
    for (int r = 0; r < n_row; ++r) {
#pragma GCC unroll 2
        for (int j = 0; j < n_vector; ++j) {
            const int64_t to = (r * n_vector + j) * width;
            store(hn::Mul(load(p + to), gradient[r][j]), ds + to);
        }
    }
}

/// The same for n rows.
template <int n_vector, class Of>
void weigh_again(const Factors& factors, int64_t n, const Of& of, const Bias& bias, float* p,
                 float* ds) {
    for_blocks_of_6(n, [&](int64_t r, auto n_row) HWY_ATTR {
        constexpr int size = decltype(n_row)::value;
        const auto weigh = bias.distance ? weigh_rows_again<size, n_vector, true, Of>
                                         : weigh_rows_again<size, n_vector, false, Of>;
        weigh(factors, r, of, bias.from(r, 0), p + r * n_vector * width, ds + r * n_vector * width);
    });
}

/// sum over n keys and the first n_query lanes of ds distance: along keys in float, lanes in double,
/// both in order.
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

void attend_backward_queries(const Heads& heads, const AttendGradient<float>& of,
                             Tile<const float> k, Tile<const float> v,
                             const DistanceBias<float>& bias, float* scratch, Tile<float> dq,
                             double* dfactor) {
    const int64_t n_head = heads.n_head, d = heads.n_key_dim, e = heads.n_value_dim;
    const int64_t n_key = k.shape[1], n_query = of.q.shape[1];
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
                const OfQueries queries{&of.log_sum(h, i), &of.delta(h, i)};
                weigh_again<n_vector>(factors, count, queries, at, p, ds);
                gather<n_vector, false>(ds, factors.b, count,
                                        {&dq(h * d, i), dq.stride[0], nullptr, ln_2});
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
    float *p = scratch, *ds = scratch + most_vectors * width * max_keys;
    for (int64_t h = 0; h < n_head; ++h) {
        const Factors all{rows_of_head(k, h, d), rows_of_head(v, h, e), rows_of_head(of.q, h, d),
                          rows_of_head(of.dy, h, e)};
        const Bias added = bias_of_head(bias, h);
        for (int64_t first = 0; first < n_query; first += max_keys) {
            const int64_t count = std::min(max_keys, n_query - first);
            for_lanes(round_up(n_key, lane_count), [&](int64_t j, auto n) HWY_ATTR {
                constexpr int n_vector = decltype(n)::value;
                const Factors factors = all.from(j, first);
                const OfKeys queries{&of.log_sum(h, first), &of.delta(h, first)};
                weigh_again<n_vector>(factors, count, queries, added.from(first, j), p, ds);
                gather<n_vector, false>(ds, factors.b, count,
                                        {&dk(h * d, j), dk.stride[0], nullptr, ln_2});
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
