// SPDX-License-Identifier: Apache-2.0
// Second backward pass of the mixer for one head, with one exponential per pair: the softmax over
// points is the softmax over latents times a factor of the point and a factor of the latent. This
// file is compiled once per SIMD instruction set. flare.md, "Backward pass", explains why this is
// allowed.
#if defined(SURROGATE_FLARE_GRADIENT_MIX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SURROGATE_FLARE_GRADIENT_MIX_INL_H_
#undef SURROGATE_FLARE_GRADIENT_MIX_INL_H_
#else
#define SURROGATE_FLARE_GRADIENT_MIX_INL_H_
#endif

#include "kernels/flare/gradient-inl.h"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::flare::HWY_NAMESPACE {

constexpr float ln_2 = 0.6931471806f;

/// Latents of one head. Rows are (D, n_row), z is (M, D).
struct MixLatents {
    int64_t n_latent, n_dim, n_row;
    const float *q, *z, *dz;
    const float *gamma, *log_sum;  // (n_row)
    float* dq;
};

/// Rows of one head at some points, (D, lanes).
struct MixPoints {
    LaneQueries k, v, dy;
    LaneQueries of_points;  // (point_rows, lanes)
    float *dk, *dv;
    int64_t dk_row, dv_row;
    int64_t n_real, n_lane;   // points; lanes with padding
    const float* log_weight;  // (n_lane), null: 0

    const float* maximum() const { return of_points.data; }
    const float* inverse() const { return of_points.data + of_points.row; }
    const float* delta() const { return of_points.data + 2 * of_points.row; }
    MixPoints from(int64_t lane) const {
        const auto at = [lane](LaneQueries x) { return LaneQueries{x.data + lane, x.row}; };
        return {at(k),
                at(v),
                at(dy),
                at(of_points),
                dk + lane,
                dv + lane,
                dk_row,
                dv_row,
                n_real - lane,
                n_lane - lane,
                log_weight ? log_weight + lane : nullptr};
    }
};

/// Computes score-like products <lanes(:, lane), keys(i, :)>.
template <class Shape>
struct Product {
    Shape shape;
    LaneQueries lanes;
    const float* keys;
};

template <int n_row, int n_vector, class Shape>
HWY_INLINE void add_products(const Product<Shape>& of, int64_t i, Vector (&sum)[n_row][n_vector]) {
    const float* key = of.keys + i * of.shape.step();
    const float* lane = of.lanes.data;
    const int64_t n_dim = of.shape.n_dim();
#pragma GCC unroll 16
    for (int64_t d = 0; d < n_dim; ++d, lane += of.lanes.row) {
        Vector x[n_vector];
#pragma GCC unroll 2
        for (int j = 0; j < n_vector; ++j) x[j] = load(lane + j * width);
#pragma GCC unroll 8
        for (int r = 0; r < n_row; ++r) {
            const Vector y = broadcast(key[r * of.shape.step() + d * of.shape.key_dim_step()]);
#pragma GCC unroll 2
            for (int j = 0; j < n_vector; ++j) sum[r][j] = mul_add(x[j], y, sum[r][j]);
        }
    }
}

/// Writes 1 in lanes that are points, 0 in the padding.
HWY_INLINE void mark_points(int64_t n_real, int64_t n_lane, float* is_point) {
    for (int64_t i = 0; i < n_lane; ++i) is_point[i] = i < n_real ? 1.0f : 0.0f;
}

/// Returns x, or 0 for points of weight 0.
HWY_INLINE Vector only_weighted(Vector log_weight, Vector x) {
    return hn::IfThenElseZero(hn::Gt(log_weight, broadcast(no_weight)), x);
}

/// Log sums of a head must be within half_spread of `middle`; otherwise they are too far apart.
constexpr float half_spread = 30;
struct Spread {
    float middle;
    bool is_small;
};

inline Spread spread_of(const float* log_sum, int64_t n) {
    Vector least = broadcast(log_sum[0]), largest = least;
    int64_t m = 0;
    for (; m + width <= n; m += width) {
        least = hn::Min(least, load(log_sum + m));
        largest = hn::Max(largest, load(log_sum + m));
    }
    for (; m < n; ++m) {
        least = hn::Min(least, broadcast(log_sum[m]));
        largest = hn::Max(largest, broadcast(log_sum[m]));
    }
    alignas(64) float lows[width], highs[width];
    store(least, lows);
    store(largest, highs);
    const float low = *std::min_element(lows, lows + width);
    const float high = *std::max_element(highs, highs + width);
    const float middle = 0.5f * low + 0.5f * high;
    return {middle, high - middle <= half_spread && middle - low <= half_spread};
}

/// At most tile_points points, with values and gradients multiplied by their factors:
///   dy inverse, v u, -delta inverse, and u = 2^(maximum + log_weight - middle)
template <int64_t dim>
struct ScaledPoints {
    static constexpr int64_t row = tile_points;
    alignas(64) float dy[dim * row], v[dim * row];  // (dim, row)
    alignas(64) float minus_delta[row], u[row], is_point[row];

    ScaledPoints(const MixPoints& points, int64_t n_dim, float middle) {
        mark_points(points.n_real, points.n_lane, is_point);
        for (int64_t i = 0; i < points.n_lane; i += width) {
            const Vector inverse = load(points.inverse() + i);
            const float* const log_weight = points.log_weight;
            Vector above = hn::Sub(load(points.maximum() + i), broadcast(middle));
            if (log_weight) above = hn::Add(above, load(log_weight + i));
            Vector factor = power_of_two(
                at_most(broadcast(half_spread + 1), at_least(broadcast(lowest_power), above)));
            if (log_weight) factor = only_weighted(load(log_weight + i), factor);
            store(factor, u + i);
            store(hn::Sub(broadcast(0.0f), hn::Mul(load(points.delta() + i), inverse)),
                  minus_delta + i);
            for (int64_t d = 0; d < n_dim; ++d) {
                store(hn::Mul(load(points.dy.data + d * points.dy.row + i), inverse),
                      dy + d * row + i);
                store(hn::Mul(load(points.v.data + d * points.v.row + i), factor), v + d * row + i);
            }
        }
    }
};

/// At most max_keys latents in rows of max_keys: queries, dz b, and -gamma b with b = 2^(middle -
/// log_sum).
template <int64_t dim>
struct ScaledLatents {
    alignas(64) float q[dim * max_keys], dz[dim * max_keys];  // (dim, max_keys)
    alignas(64) float minus_gamma[max_keys];

    ScaledLatents(const MixLatents& all, int64_t first, int64_t count, float middle) {
        for (int64_t m = 0; m < round_up(count, lane_count); m += width) {
            const Vector below = hn::Sub(broadcast(middle), load(all.log_sum + first + m));
            const Vector b = power_of_two(
                at_most(broadcast(half_spread), at_least(broadcast(-half_spread), below)));
            store(hn::Sub(broadcast(0.0f), hn::Mul(load(all.gamma + first + m), b)),
                  minus_gamma + m);
            for (int64_t d = 0; d < all.n_dim; ++d) {
                const int64_t from = d * all.n_row + first + m;
                store(load(all.q + from), q + d * max_keys + m);
                store(hn::Mul(load(all.dz + from), b), dz + d * max_keys + m);
            }
        }
    }
};

/// Computes dS of n_row latents from i on, in place: weights times the terms in brackets.
template <int n_row, int n_vector, class Keys, class Values>
HWY_INLINE void slope_rows(const Product<Values>& dr, const Product<Keys>& dp,
                           const float* minus_delta, const float* u, const float* minus_gamma,
                           int64_t i, float* weights) {
    Vector sum[n_row][n_vector];
#pragma GCC unroll 8
    for (int r = 0; r < n_row; ++r) {
        const Vector gamma = broadcast(minus_gamma[i + r]);
#pragma GCC unroll 2
        for (int j = 0; j < n_vector; ++j)
            sum[r][j] = mul_add(load(u + j * width), gamma, load(minus_delta + j * width));
    }
    add_products(dr, i, sum);
    add_products(dp, i, sum);
#pragma GCC unroll 8
    for (int r = 0; r < n_row; ++r) {
#pragma GCC unroll 2
        for (int j = 0; j < n_vector; ++j) {
            float* place = weights + ((i + r) * n_vector + j) * width;
            store(hn::Mul(load(place), sum[r][j]), place);
        }
    }
}

template <int n_vector, class Keys, class Values>
HWY_NOINLINE void find_slopes(const Product<Values>& dr, const Product<Keys>& dp,
                              const float* minus_delta, const float* u, const float* minus_gamma,
                              int64_t n, float* weights) {
    constexpr int n_row = width == 16 ? 6 : 4;  // 12 sums, or 8 of 16 registers
    int64_t i = 0;
    for (; i + n_row <= n; i += n_row)
        slope_rows<n_row, n_vector>(dr, dp, minus_delta, u, minus_gamma, i, weights);
    for (; i < n; ++i) slope_rows<1, n_vector>(dr, dp, minus_delta, u, minus_gamma, i, weights);
}

/// Processes one block of latents and one group of points; dk and dv lack a factor of the point.
template <int n_vector, class Rows, class Latents, int64_t dim>
HWY_INLINE void mix_block(const Rows& rows, const Latents& latents, const MixLatents& all,
                          const ScaledLatents<dim>& scaled, int64_t first, int64_t lane,
                          const MixPoints& points, const ScaledPoints<dim>& own) {
    constexpr int64_t n_lane = n_vector * width;
    const int64_t n_latent = std::min(max_keys, all.n_latent - first);
    alignas(64) float weights[max_keys * n_lane];  // (n_latent, n_lane), then dS
    alignas(64) float maximum[n_lane], sum[n_lane], one[n_lane];
    std::copy_n(points.maximum(), n_lane, maximum);
    std::fill_n(sum, n_lane, 0.0f);
    std::fill_n(one, n_lane, 1.0f);

    // The maximum is known, so that the weights are equal to those in the first pass and are not
    // rescaled.
    const Block<Rows> block{rows, points.k, scaled.q, scaled.dz, n_latent};
    attend_block<n_vector>(block, {maximum, sum, points.dv, points.dv_row}, weights);
    find_slopes<n_vector>(
        Product<Latents>{latents, {own.dy + lane, own.row}, all.z + first * all.n_dim},
        Product<Rows>{rows, {own.v + lane, own.row}, scaled.dz}, own.minus_delta + lane,
        own.u + lane, scaled.minus_gamma, n_latent, weights);
    Block<Rows> queries = block;
    queries.values = scaled.q;
    gather_values<n_vector>(queries, weights, one, {nullptr, nullptr, points.dk, points.dk_row});
    clear_padding(weights, n_latent, n_lane);
    add_over_points({weights, own.is_point + lane, n_lane}, n_latent, points.k, all.n_dim,
                    all.dq + first, all.n_row);
}

/// Processes one head at no more than tile_points points. dk and dv are zero before.
template <int64_t dim, class Rows, class Latents>
void mix_head_shared(const Rows& rows, const Latents& latents, const MixLatents& all,
                     const MixPoints& points, float middle) {
    const ScaledPoints<dim> own(points, all.n_dim, middle);
    for (int64_t first = 0; first < all.n_latent; first += max_keys) {
        const ScaledLatents<dim> scaled(all, first, std::min(max_keys, all.n_latent - first),
                                        middle);
        for_lane_groups(points.n_lane, [&](int64_t lane, auto n_vector) HWY_ATTR {
            mix_block<decltype(n_vector)::value>(rows, latents, all, scaled, first, lane,
                                                 points.from(lane), own);
        });
    }
    for (int64_t d = 0; d < all.n_dim; ++d) {
        for (int64_t i = 0; i < points.n_lane; i += width) {
            float *dk = points.dk + d * points.dk_row + i, *dv = points.dv + d * points.dv_row + i;
            store(hn::Mul(load(dk), broadcast(ln_2)), dk);
            store(hn::Mul(load(dv), load(own.u + i)), dv);
        }
    }
}

}  // namespace surrogate::kernels::flare::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
