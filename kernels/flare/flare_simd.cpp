// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/flare/flare_simd.cpp"
#include <hwy/foreach_target.h>

#include "kernels/flare/attend-inl.h"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::flare::HWY_NAMESPACE {
namespace {

/// Returns 0 if all k(d, i) of a head are finite, else NaN: see taint_of_lanes().
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

/// Work on one head: k and v are its rows of the tiles, each with its own row stride.
struct Head {
    LaneQueries queries;
    const float *k, *v;
    int64_t k_row, v_row, n_dim, n_point, n_lane;
    const float* log_weight;  // (n_point), null: 0
};

void copy_rows(const float* from, int64_t row, int64_t n_dim, int64_t count, float* to) {
    for (int64_t d = 0; d < n_dim; ++d) std::copy_n(from + d * row, count, to + d * max_keys);
}

/// Copying the head costs 1/100 of the work and gives every key an address that is known at compile
/// time.
template <int64_t dim>
void encode_packed(const Head& head, State state) {
    alignas(64) float keys[dim * max_keys], values[dim * max_keys];  // (dim, max_keys)
    for (int64_t first = 0; first < head.n_point; first += max_keys) {
        const int64_t count = std::min(max_keys, head.n_point - first);
        copy_rows(head.k + first, head.k_row, dim, count, keys);
        copy_rows(head.v + first, head.v_row, dim, count, values);
        attend(Block<PackedPoints<dim>>{{},
                                        head.queries,
                                        keys,
                                        values,
                                        count,
                                        head.log_weight ? head.log_weight + first : nullptr},
               head.n_lane, state);
    }
}

/// Encodes one head. Head sizes of published models have instances; other sizes run the same
/// operations on the tiles in place.
void encode_head(const Head& head, State state) {
    const AnyShape any{head.n_dim, 1, head.k_row, head.v_row};
    switch (head.n_dim) {
        case 4: return encode_packed<4>(head, state);
        case 8: return encode_packed<8>(head, state);
        case 16: return encode_packed<16>(head, state);
        default:
            attend(
                Block<AnyShape>{any, head.queries, head.k, head.v, head.n_point, head.log_weight},
                head.n_lane, state);
    }
}

void encode(const Queries<float>& queries, Tile<const float> k, Tile<const float> v,
            Partial<float> partial, const float* log_weight) {
    const auto& [n_head, n_latent, n_dim] = queries.sizes;
    const int64_t n_point = k.shape[1], n_row = queries.sizes.n_row();
    if (n_point == 0) return;
    for (int64_t h = 0; h < n_head; ++h) {
        const int64_t channel = h * n_dim;
        const Head head{{queries.by_dim + channel * n_row, n_row},
                        k.data + channel * k.stride[0],
                        v.data + channel * v.stride[0],
                        k.stride[0],
                        v.stride[0],
                        n_dim,
                        n_point,
                        n_row,
                        log_weight};
        encode_head(head, {partial.maximum(h), partial.sum(h), partial.value(h, 0), n_row});
        taint_sums(taint_of_points(head.k, head.k_row, n_dim, n_point), n_row, partial.sum(h));
    }
}

void attend_latents(const LatentHead& head, LaneQueries points, int64_t n_lane, State state) {
    const auto& [keys, z, n_latent, n_dim] = head;
    const AnyShape any{n_dim, n_dim, 1, 1};
    switch (n_dim) {
        case 4: return attend(Block<Latents<4>>{{}, points, keys, z, n_latent}, n_lane, state);
        case 8: return attend(Block<Latents<8>>{{}, points, keys, z, n_latent}, n_lane, state);
        case 16: return attend(Block<Latents<16>>{{}, points, keys, z, n_latent}, n_lane, state);
        default: return attend(Block<AnyShape>{any, points, keys, z, n_latent}, n_lane, state);
    }
}

/// Decodes at most tile_points points of one head. The values are accumulated in y itself.
void decode_head(const LatentHead& head, LaneQueries points, int64_t n_lane, float* y,
                 int64_t y_row) {
    alignas(64) float maximum[tile_points], sum[tile_points];
    std::fill_n(maximum, n_lane, lowest_score<float>());
    std::fill_n(sum, n_lane, 0.0f);
    for (int64_t d = 0; d < head.n_dim; ++d) std::fill_n(y + d * y_row, n_lane, 0.0f);
    attend_latents(head, points, n_lane, {maximum, sum, y, y_row});

    for (int64_t i = 0; i < n_lane; i += width) {
        const Vector taint = taint_of_lanes(points.data + i, points.row, head.n_dim);
        const Vector inverse = hn::Div(broadcast(1.0f), hn::Add(load(sum + i), taint));
        for (int64_t d = 0; d < head.n_dim; ++d)
            store(hn::Mul(load(y + d * y_row + i), inverse), y + d * y_row + i);
    }
}

void decode(const Queries<float>& queries, Tile<const float> k, const float* z, Tile<float> y) {
    const auto& [n_head, n_latent, n_dim] = queries.sizes;
    const int64_t n_lane = round_up(k.shape[1], lane_count), k_row = k.stride[0];
    for (int64_t h = 0; h < n_head; ++h) {
        const int64_t latent = h * n_latent * n_dim, channel = h * n_dim;
        const LatentHead head{queries.by_latent + latent, z + latent, n_latent, n_dim};
        const float* points = k.data + channel * k_row;
        float* out = y.data + channel * y.stride[0];
        for (int64_t i = 0; i < n_lane; i += tile_points)
            decode_head(head, {points + i, k_row}, std::min(tile_points, n_lane - i), out + i,
                        y.stride[0]);
    }
}

}  // namespace
}  // namespace surrogate::kernels::flare::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace surrogate::kernels::flare::simd {

void encode(VectorLevel level, const Queries<float>& queries, Tile<const float> k,
            Tile<const float> v, Partial<float> partial, const float* log_weight) {
    SURROGATE_AT_LEVEL(level, encode)(queries, k, v, partial, log_weight);
}

void decode(VectorLevel level, const Queries<float>& queries, Tile<const float> k, const float* z,
            Tile<float> y) {
    SURROGATE_AT_LEVEL(level, decode)(queries, k, z, y);
}

}  // namespace surrogate::kernels::flare::simd
#endif
