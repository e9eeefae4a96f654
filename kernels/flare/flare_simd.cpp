// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/flare/flare_simd.cpp"
#include <hwy/foreach_target.h>

#include "kernels/flare/attend-inl.h"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::flare::HWY_NAMESPACE {
namespace {

/// 0 if all k(d, i) of a head are finite, else NaN. A NaN of any payload must reach the sums, and the exponential alone
/// would not carry it: it adds to the exponent bits of what may be a NaN.
float taint_of_points(const float* k, int64_t row, int64_t n_dim, int64_t n_point) {
    Vector taint = broadcast(0.0f);
    for (int64_t i = 0; i < n_point; i += width) {
        const auto real = hn::FirstN(Tag(), static_cast<size_t>(n_point - i));
        for (int64_t d = 0; d < n_dim; ++d) {
            const Vector value = hn::IfThenElseZero(real, load(k + d * row + i));
            taint = mul_add(value, broadcast(0.0f), taint);
        }
    }
    return hn::GetLane(hn::SumOfLanes(Tag(), taint));
}

/// Adds 0 or NaN to each of n_lane sums.
void taint_sums(float taint, int64_t n_lane, float* sum) {
    for (int64_t m = 0; m < n_lane; m += width)
        store(hn::Add(load(sum + m), broadcast(taint)), sum + m);
}

void encode(const Queries<float>& queries, Tile<const float> k, Tile<const float> v,
            Partial<float> partial) {
    const Sizes& s = queries.sizes;
    const int64_t n_point = k.shape[1], n_row = s.n_row();
    if (n_point == 0) return;
    for (int64_t head = 0; head < s.n_head; ++head) {
        const float* keys = k.data + head * s.n_dim * k.stride[0];
        const float* values = v.data + head * s.n_dim * v.stride[0];
        const Block block{{queries.by_dim + head * s.n_dim * n_row, n_row},
                          {keys, 1, k.stride[0]},
                          {values, 1, v.stride[0]},
                          n_point,
                          s.n_dim};
        attend(block, n_row,
               {partial.maximum(head), partial.sum(head), partial.value(head, 0), n_row});
        taint_sums(taint_of_points(keys, k.stride[0], s.n_dim, n_point), n_row, partial.sum(head));
    }
}

/// NaN in lanes where a channel of k is not finite, else 0: see taint_of_points().
HWY_INLINE Vector taint_of_lanes(const float* k, int64_t row, int64_t n_dim) {
    Vector taint = broadcast(0.0f);
    for (int64_t d = 0; d < n_dim; ++d) taint = mul_add(load(k + d * row), broadcast(0.0f), taint);
    return taint;
}

/// One head, at most tile_points points. The values grow in y itself.
void decode_head(const Block& latents, int64_t n_lane, float* y, int64_t y_row) {
    alignas(64) float maximum[tile_points], sum[tile_points];
    std::fill_n(maximum, n_lane, lowest_score<float>());
    std::fill_n(sum, n_lane, 0.0f);
    for (int64_t d = 0; d < latents.n_dim; ++d) std::fill_n(y + d * y_row, n_lane, 0.0f);
    attend(latents, n_lane, {maximum, sum, y, y_row});

    const LaneQueries& k = latents.queries;
    for (int64_t i = 0; i < n_lane; i += width) {
        const Vector all = hn::Add(load(sum + i), taint_of_lanes(k.data + i, k.row, latents.n_dim));
        const Vector inverse = hn::Div(broadcast(1.0f), all);
        for (int64_t d = 0; d < latents.n_dim; ++d)
            store(hn::Mul(load(y + d * y_row + i), inverse), y + d * y_row + i);
    }
}

void decode(const Queries<float>& queries, Tile<const float> k, const float* z, Tile<float> y) {
    const auto& [n_head, n_latent, n_dim] = queries.sizes;
    const int64_t n_lane = round_up(k.shape[1], lane_count);
    for (int64_t head = 0; head < n_head; ++head) {
        const int64_t latent = head * n_latent * n_dim, channel = head * n_dim;
        Block latents{{k.data + channel * k.stride[0], k.stride[0]},
                      {queries.by_latent + latent, n_dim, 1},
                      {z + latent, n_dim, 1},
                      n_latent,
                      n_dim};
        float* out = y.data + channel * y.stride[0];
        for (int64_t i = 0; i < n_lane; i += tile_points) {
            decode_head(latents, std::min(tile_points, n_lane - i), out + i, y.stride[0]);
            latents.queries.data += tile_points;
        }
    }
}

}  // namespace
}  // namespace surrogate::kernels::flare::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace surrogate::kernels::flare::simd {

void encode(VectorLevel level, const Queries<float>& queries, Tile<const float> k,
            Tile<const float> v, Partial<float> partial) {
    SURROGATE_AT_LEVEL(level, encode)(queries, k, v, partial);
}

void decode(VectorLevel level, const Queries<float>& queries, Tile<const float> k, const float* z,
            Tile<float> y) {
    SURROGATE_AT_LEVEL(level, decode)(queries, k, z, y);
}

}  // namespace surrogate::kernels::flare::simd
#endif
