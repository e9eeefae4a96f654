// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/flare/gradient_decode_simd.cpp"
#include <hwy/foreach_target.h>

#include "kernels/base/point_sum-inl.h"
#include "kernels/flare/gradient-inl.h"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::flare::HWY_NAMESPACE {
namespace {

/// Number of blocks of keys whose weights are kept for the sums over points: 64 KiB for 512
/// latents. Weights of further blocks are recomputed.
constexpr int64_t most_blocks = 4;

/// One head and one group of points: rows of tiles at its first lane.
struct Group {
    LatentHead head;
    LaneQueries k, dy;
    float *y, *of_points;  // (D, lanes), (point_rows, lanes)
    int64_t y_row, of_points_row;
    int64_t n_real;  // lanes that are points; the others are padding
    float* dz;       // (D, n_row)
    int64_t dz_row;
};

/// Running softmax over latents. `then` are the maxima to which the kept weights refer.
template <int n_vector>
struct Weights {
    static constexpr int64_t n_lane = n_vector * width;

    alignas(64) float kept[most_blocks * max_keys * n_lane];  // (latent, lane)
    alignas(64) float then[most_blocks][n_lane];
    alignas(64) float maximum[n_lane], sum[n_lane];
    alignas(64) float inverse[n_lane];  // 0 in the padding
};

/// Computes y (n_dim, lanes) as in decode().
template <int n_vector, class Shape>
void attend_group(const Group& group, const Block<Shape>& all, Weights<n_vector>& w) {
    constexpr int64_t n_lane = n_vector * width;
    const State state{w.maximum, w.sum, group.y, group.y_row};
    std::fill_n(w.maximum, n_lane, lowest_score<float>());
    std::fill_n(w.sum, n_lane, 0.0f);
    for (int64_t d = 0; d < group.head.n_dim; ++d)
        std::fill_n(state.value + d * state.row, n_lane, 0.0f);
    for (int64_t first = 0, b = 0; first < all.n_key; first += max_keys, ++b) {
        const int64_t slot = b % most_blocks;
        attend_block<n_vector>(all.from(first), state, w.kept + slot * max_keys * n_lane);
        std::copy_n(w.maximum, n_lane, w.then[slot]);
    }
}

/// Divides y by the sums, and writes the rows that the second pass reads.
template <int n_vector>
void finish_group(const Group& group, Weights<n_vector>& w) {
    const int64_t n_dim = group.head.n_dim, row = group.of_points_row;
    for (int j = 0; j < n_vector; ++j) {
        const int64_t i = j * width;
        const Vector taint = taint_of_lanes(group.k.data + i, group.k.row, n_dim);
        const Vector inverse = hn::Div(broadcast(1.0f), hn::Add(load(w.sum + i), taint));
        Vector delta = broadcast(0.0f);
        for (int64_t d = 0; d < n_dim; ++d) {
            float* place = group.y + d * group.y_row + i;
            const Vector value = hn::Mul(load(place), inverse);
            store(value, place);
            delta = mul_add(load(group.dy.data + d * group.dy.row + i), value, delta);
        }
        store(load(w.maximum + i), group.of_points + i);
        store(inverse, group.of_points + row + i);
        store(delta, group.of_points + 2 * row + i);
        store(first_lanes(inverse, group.n_real - i), w.inverse + i);
    }
}

/// Adds the weights of one block, relative to the maxima `then`, times dy to dz.
template <int n_vector>
void add_block(const Group& group, int64_t first, const float* then, float* weights,
               const Weights<n_vector>& w) {
    constexpr int64_t n_lane = n_vector * width;
    const int64_t n_latent = std::min(max_keys, group.head.n_latent - first);
    alignas(64) float factor[n_lane];
    for (int64_t i = 0; i < n_lane; i += width)
        store(
            hn::Mul(load(w.inverse + i), power_of_difference(load(then + i), load(w.maximum + i))),
            factor + i);
    clear_padding(weights, n_latent, n_lane);
    add_over_points({weights, factor, n_lane}, n_latent, group.dy, group.head.n_dim,
                    group.dz + first, group.dz_row);
}

/// Recomputes the weights of one block relative to the last maxima.
template <int n_vector, class Shape>
void weigh_block_again(const Block<Shape>& block, Weights<n_vector>& w) {
    constexpr int64_t n_lane = n_vector * width;
    alignas(64) float block_maximum[n_lane], maximum[n_lane], rescale[n_lane], sum[n_lane];
    std::copy_n(w.maximum, n_lane, block_maximum);
    std::copy_n(w.maximum, n_lane, maximum);
    score_keys<n_vector>(block, w.kept, block_maximum);
    weigh_block<n_vector>(block.n_key, w.kept, block_maximum, maximum, rescale, sum);
}

template <int n_vector, class Shape>
HWY_NOINLINE void group_backward(const Group& group, const Shape& shape) {
    const int64_t n_latent = group.head.n_latent;
    const Block<Shape> all{shape, group.k, group.head.keys, group.head.z, n_latent};
    Weights<n_vector> w;
    attend_group(group, all, w);
    finish_group(group, w);
    const bool is_kept = n_latent <= most_blocks * max_keys;
    for (int64_t first = 0, b = 0; first < n_latent; first += max_keys, ++b) {
        if (!is_kept) weigh_block_again(all.from(first), w);
        add_block(group, first, is_kept ? w.then[b] : w.maximum,
                  is_kept ? w.kept + b * max_keys * Weights<n_vector>::n_lane : w.kept, w);
    }
}

template <int n_vector>
void group_backward(const Group& group) {
    const int64_t n_dim = group.head.n_dim;
    switch (n_dim) {
        case 4: return group_backward<n_vector>(group, Latents<4>());
        case 8: return group_backward<n_vector>(group, Latents<8>());
        case 16: return group_backward<n_vector>(group, Latents<16>());
        case 32: return group_backward<n_vector>(group, Latents<32>());
        default: return group_backward<n_vector>(group, AnyShape{n_dim, n_dim, 1, 1});
    }
}

void decode_backward(const Queries<float>& queries, Tile<const float> k, const float* z,
                     Tile<const float> dy, Tile<float> y, Tile<float> of_points,
                     LatentSums<float> dz) {
    const auto& [n_head, n_latent, n_dim] = queries.sizes;
    const int64_t n_point = k.shape[1];
    for (int64_t h = 0; h < n_head; ++h) {
        const int64_t latent = h * n_latent * n_dim, c = h * n_dim;
        const LatentHead head{queries.by_latent + latent, z + latent, n_latent, n_dim};
        for_lane_groups(round_up(n_point, lane_count), [&](int64_t i, auto n_vector) HWY_ATTR {
            const Group group{head,
                              {&k(c, i), k.stride[0]},
                              {&dy(c, i), dy.stride[0]},
                              &y(c, i),
                              &of_points(point_rows * h, i),
                              y.stride[0],
                              of_points.stride[0],
                              n_point - i,
                              dz.row(h, 0),
                              queries.sizes.n_row()};
            group_backward<decltype(n_vector)::value>(group);
        });
    }
}

}  // namespace
}  // namespace surrogate::kernels::flare::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace surrogate::kernels::flare::simd {

void decode_backward(VectorLevel level, const Queries<float>& queries, Tile<const float> k,
                     const float* z, Tile<const float> dy, Tile<float> y, Tile<float> of_points,
                     LatentSums<float> dz) {
    SURROGATE_AT_LEVEL(level, decode_backward)(queries, k, z, dy, y, of_points, dz);
}

}  // namespace surrogate::kernels::flare::simd
#endif
