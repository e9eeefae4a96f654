// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/flare/gradient_mix_simd.cpp"
#include <hwy/foreach_target.h>

#include "kernels/flare/gradient_mix-inl.h"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::flare::HWY_NAMESPACE {
namespace {

// Two exponentials per pair, for heads whose log sums are far apart and for heads of any size.

/// Replaces scores by 2^(S + log_weight - log_sum), at least 2^-125 and at most 1: log_sum may be
/// rounded, and lanes in the padding are arbitrary. log_weight (n_vector * width), null: 0.
template <int n_vector>
HWY_NOINLINE void weigh_points(const float* log_sum, const float* log_weight, int64_t n,
                               float* scores) {
    for (int64_t r = 0; r < n; ++r) {
        const Vector limit = broadcast(log_sum[r]), lowest = lowest_beside(limit);
        Vector x[n_vector];
        for (int j = 0; j < n_vector; ++j) {
            Vector score = load(scores + (r * n_vector + j) * width);
            if (log_weight) score = hn::Add(score, load(log_weight + j * width));
            const Vector below = hn::Sub(at_least(lowest, score), limit);
            x[j] = at_most(broadcast(0.0f), at_least(broadcast(lowest_power), below));
        }
        powers_of_two(x);
        for (int j = 0; j < n_vector; ++j) {
            if (log_weight) x[j] = only_weighted(load(log_weight + j * width), x[j]);
            store(x[j], scores + (r * n_vector + j) * width);
        }
    }
}

/// Computes p (<dz, v> - gamma) + r inverse (<dy, z> - delta), stored over p.
template <int n_vector>
HWY_NOINLINE void join_slopes(const Product<AnyShape>& dp, const Product<AnyShape>& dr,
                              const float* gamma, const MixPoints& points, int64_t n,
                              const float* r, float* p) {
    for (int64_t i = 0; i < n; ++i) {
        Vector of_p[1][n_vector], of_r[1][n_vector];
        for (int j = 0; j < n_vector; ++j) {
            of_p[0][j] = broadcast(-gamma[i]);
            of_r[0][j] = hn::Sub(broadcast(0.0f), load(points.delta() + j * width));
        }
        add_products(dp, i, of_p);
        add_products(dr, i, of_r);
        for (int j = 0; j < n_vector; ++j) {
            const int64_t at = (i * n_vector + j) * width;
            const Vector weight = hn::Mul(load(r + at), load(points.inverse() + j * width));
            store(mul_add(weight, of_r[0][j], hn::Mul(load(p + at), of_p[0][j])), p + at);
        }
    }
}

template <int n_vector>
void mix_block_apart(const MixLatents& all, int64_t first, const MixPoints& points) {
    constexpr int64_t n_lane = n_vector * width;
    const int64_t n_latent = std::min(max_keys, all.n_latent - first);
    alignas(64) float p[max_keys * n_lane], r[max_keys * n_lane];  // (n_latent, n_lane)
    alignas(64) float largest[n_lane], maximum[n_lane], rescale[n_lane], sum[n_lane];
    std::copy_n(points.maximum(), n_lane, largest);
    std::copy_n(points.maximum(), n_lane, maximum);

    const AnyShape rows{all.n_dim, 1, all.n_row, all.n_row};
    const AnyShape latents{all.n_dim, all.n_dim, 1, 1};
    Block<AnyShape> block{rows, points.k, all.q + first, all.dz + first, n_latent};
    score_keys<n_vector>(block, p, largest);
    std::copy_n(p, n_latent * n_lane, r);
    weigh_block<n_vector>(n_latent, r, largest, maximum, rescale, sum);
    weigh_points<n_vector>(all.log_sum + first, points.log_weight, n_latent, p);

    float* one = rescale;
    std::fill_n(one, n_lane, 1.0f);
    gather_values<n_vector>(block, p, one, {nullptr, nullptr, points.dv, points.dv_row});
    join_slopes<n_vector>({rows, points.v, all.dz + first},
                          {latents, points.dy, all.z + first * all.n_dim}, all.gamma + first,
                          points, n_latent, r, p);
    block.values = all.q + first;
    gather_values<n_vector>(block, p, one, {nullptr, nullptr, points.dk, points.dk_row});
    clear_padding(p, n_latent, n_lane);
    float* is_point = sum;
    mark_points(points.n_real, n_lane, is_point);
    add_over_points({p, is_point, n_lane}, n_latent, points.k, all.n_dim, all.dq + first,
                    all.n_row);
}

/// Processes one head at any number of points. dk and dv are zero before.
void mix_head_apart(const MixLatents& all, const MixPoints& points) {
    for_lane_groups(points.n_lane, [&](int64_t lane, auto n_vector) HWY_ATTR {
        constexpr int n = decltype(n_vector)::value;
        const MixPoints group = points.from(lane);
        for (int64_t first = 0; first < all.n_latent; first += max_keys)
            mix_block_apart<n>(all, first, group);
        for (int64_t d = 0; d < all.n_dim; ++d) {
            for (int64_t i = 0; i < n * width; i += width) {
                float* dk = group.dk + d * group.dk_row + i;
                store(hn::Mul(load(dk), broadcast(ln_2)), dk);
            }
        }
    });
}

constexpr int64_t most_shared_dims = 32;

void mix_head(const MixLatents& all, const MixPoints& points, const Spread& spread) {
    for (int64_t d = 0; d < all.n_dim; ++d) {
        std::fill_n(points.dk + d * points.dk_row, points.n_lane, 0.0f);
        std::fill_n(points.dv + d * points.dv_row, points.n_lane, 0.0f);
    }
    if (!spread.is_small || all.n_dim > most_shared_dims) return mix_head_apart(all, points);
    const float c = spread.middle;
    switch (all.n_dim) {
        case 4: return mix_head_shared<4>(PackedPoints<4>(), Latents<4>(), all, points, c);
        case 8: return mix_head_shared<8>(PackedPoints<8>(), Latents<8>(), all, points, c);
        case 16: return mix_head_shared<16>(PackedPoints<16>(), Latents<16>(), all, points, c);
        case 32: return mix_head_shared<32>(PackedPoints<32>(), Latents<32>(), all, points, c);
        default:
            return mix_head_shared<most_shared_dims>(AnyShape{all.n_dim, 1, max_keys, max_keys},
                                                     AnyShape{all.n_dim, all.n_dim, 1, 1}, all,
                                                     points, c);
    }
}

void mix_backward(const Queries<float>& queries, const LatentSide<float>& latents,
                  Tile<const float> k, Tile<const float> v, Tile<const float> dy,
                  Tile<const float> of_points, Tile<float> dk, Tile<float> dv, LatentSums<float> dq,
                  const float* log_weight) {
    const auto& [n_head, n_latent, n_dim] = queries.sizes;
    const int64_t n_row = queries.sizes.n_row(), n_point = k.shape[1];
    if (n_point == 0) return;
    for (int64_t h = 0; h < n_head; ++h) {
        const int64_t c = h * n_dim;
        const MixLatents all{n_latent,
                             n_dim,
                             n_row,
                             queries.by_dim + c * n_row,
                             latents.z + c * n_latent,
                             latents.dz + c * n_row,
                             latents.gamma + h * n_row,
                             latents.log_sum + h * n_row,
                             dq.row(h, 0)};
        const Spread spread = spread_of(all.log_sum, n_latent);
        for (int64_t i = 0; i < n_point; i += tile_points) {
            const int64_t count = std::min(tile_points, n_point - i);
            const MixPoints points{{&k(c, i), k.stride[0]},
                                   {&v(c, i), v.stride[0]},
                                   {&dy(c, i), dy.stride[0]},
                                   {&of_points(point_rows * h, i), of_points.stride[0]},
                                   &dk(c, i),
                                   &dv(c, i),
                                   dk.stride[0],
                                   dv.stride[0],
                                   count,
                                   round_up(count, lane_count),
                                   log_weight ? log_weight + i : nullptr};
            mix_head(all, points, spread);
        }
    }
}

}  // namespace
}  // namespace surrogate::kernels::flare::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace surrogate::kernels::flare::simd {

void mix_backward(VectorLevel level, const Queries<float>& queries,
                  const LatentSide<float>& latents, Tile<const float> k, Tile<const float> v,
                  Tile<const float> dy, Tile<const float> of_points, Tile<float> dk, Tile<float> dv,
                  LatentSums<float> dq, const float* log_weight) {
    SURROGATE_AT_LEVEL(level, mix_backward)
    (queries, latents, k, v, dy, of_points, dk, dv, dq, log_weight);
}

}  // namespace surrogate::kernels::flare::simd
#endif
