// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/flare/flare_simd.cpp"
#include <hwy/foreach_target.h>

#include "kernels/flare/attend-inl.h"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::flare::HWY_NAMESPACE {
namespace {

/// Makes n_lane sums NaN if a key is: see taint_of_lanes().
void taint_sums(float largest_key, int64_t n_lane, float* sum) {
    const float taint = 0 * largest_key;
    for (int64_t m = 0; m < n_lane; m += width)
        store(hn::Add(load(sum + m), broadcast(taint)), sum + m);
}

/// Returns the rows of the next head; after the last head these are the rows of the next tile, if
/// it follows in memory.
RowsAhead next_head(const float* a, int64_t a_row, const float* b, int64_t b_row, int64_t n_dim,
                    int64_t n_point) {
    return {{a + n_dim * a_row, b + n_dim * b_row}, {a_row, b_row}, n_dim, n_point};
}

/// Work on one head: k and v are its rows of the tiles, each with its own row stride.
struct Head {
    LaneQueries queries;
    const float *k, *v;
    int64_t k_row, v_row, n_dim, n_point, n_lane;
    const float* log_weight;  // (n_point), null: 0
    float lowest;             // no score is smaller
    RowsAhead* ahead;
};

void copy_rows(const float* from, int64_t row, int64_t n_dim, int64_t count, float* to) {
    for (int64_t d = 0; d < n_dim; ++d)
        for (int64_t i = 0; i < count; i += width)
            store(load(from + d * row + i), to + d * max_keys + i);
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
                                        head.log_weight ? head.log_weight + first : nullptr,
                                        head.lowest,
                                        head.ahead},
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
            attend(Block<AnyShape>{any, head.queries, head.k, head.v, head.n_point, head.log_weight,
                                   head.lowest, head.ahead},
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
        const LaneQueries latents{queries.by_dim + channel * n_row, n_row};
        const float* keys = k.data + channel * k.stride[0];
        const float* values = v.data + channel * v.stride[0];
        const float largest = largest_size(keys, k.stride[0], n_dim, n_point);
        const float lowest =
            log_weight ? any_score : least_score(latents.data, n_row, n_dim, n_row, largest);
        RowsAhead ahead = next_head(keys, k.stride[0], values, v.stride[0], n_dim, n_point);
        const Head head{latents, keys,  values,     k.stride[0], v.stride[0], n_dim,
                        n_point, n_row, log_weight, lowest,      &ahead};
        encode_head(head, {partial.maximum(h), partial.sum(h), partial.value(h, 0), n_row});
        taint_sums(largest, n_row, partial.sum(h));
    }
}

template <class Shape>
void attend_latents(Shape shape, const LatentHead& head, LaneQueries points, int64_t n_lane,
                    State state) {
    attend(Block<Shape>{shape, points, head.keys, head.z, head.n_latent, nullptr, head.lowest,
                        head.ahead},
           n_lane, state);
}

void attend_latents(const LatentHead& head, LaneQueries points, int64_t n_lane, State state) {
    const int64_t n_dim = head.n_dim;
    switch (n_dim) {
        case 4: return attend_latents(Latents<4>(), head, points, n_lane, state);
        case 8: return attend_latents(Latents<8>(), head, points, n_lane, state);
        case 16: return attend_latents(Latents<16>(), head, points, n_lane, state);
        default: return attend_latents(AnyShape{n_dim, n_dim, 1, 1}, head, points, n_lane, state);
    }
}

/// Decodes at most tile_points points of one head. The values are accumulated in y itself.
void decode_head(const LatentHead& head, LaneQueries points, int64_t n_lane, float* y,
                 int64_t y_row) {
    alignas(64) float maximum[tile_points], sum[tile_points];
    for (int64_t i = 0; i < n_lane; i += width) {
        store(broadcast(lowest_score<float>()), maximum + i);
        store(broadcast(0.0f), sum + i);
        for (int64_t d = 0; d < head.n_dim; ++d) store(broadcast(0.0f), y + d * y_row + i);
    }
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
        const float *points = k.data + channel * k_row, *keys = queries.by_latent + latent;
        float* out = y.data + channel * y.stride[0];
        const float largest = largest_size(keys, 0, 1, n_latent * n_dim);
        RowsAhead ahead = next_head(points, k_row, out, y.stride[0], n_dim, n_lane);
        const LatentHead head{
            keys,  z + latent, n_latent, n_dim, least_score(points, k_row, n_dim, n_lane, largest),
            &ahead};
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
