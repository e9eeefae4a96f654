// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/sequoia/tree_attention_simd.cpp"
#include <hwy/foreach_target.h>

#include <algorithm>

#include "kernels/sequoia/group-inl.h"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::sequoia::HWY_NAMESPACE {
namespace {

/// Computes y = (ancestors + siblings + children) / 3 of n_row channels from c on. children may be
/// y, or null.
template <int n_row>
HWY_NOINLINE void average_rows(const Group& group, const float* weights, int64_t c,
                               const float* children, int64_t children_row, float* y,
                               int64_t y_row) {
    Sums<n_row> sum;
    sum.clear();
    for (int64_t a = 0; a < group.n_ancestor; ++a, weights += lane_count) {
        const Node<float>& node = group.ancestors[a];
        sum.add(weights, node.v + (group.value_channel + c) * node.row, node.row);
    }
    const float* v = group.v + c * group.v_row;
    for (int64_t j = 0; j < group.count; ++j, weights += lane_count)
        sum.add(weights, v + j, group.v_row);
#pragma GCC unroll 8
    for (int r = 0; r < n_row; ++r) {
#pragma GCC unroll 2
        for (int j = 0; j < n_vector; ++j) {
            Vector value = sum.at[r][j];
            if (children)
                value = hn::Add(value, load(children + (c + r) * children_row + j * width));
            store(hn::Mul(value, broadcast(1.0f / 3)), y + (c + r) * y_row + j * width);
        }
    }
}

/// Processes lane_count queries; y (e, lane_count) rows.
HWY_INLINE void attend_lanes(Rows q, const Group& group, int64_t n_value_dim, const float* children,
                             int64_t children_row, float* weights, float* y, int64_t y_row) {
    weigh_group(q, group, weights);
    for_channel_blocks(n_value_dim, [&](int64_t c, auto n) HWY_ATTR {
        average_rows<decltype(n)::value>(group, weights, c, children, children_row, y, y_row);
    });
}

/// The tiles of a call.
struct Call {
    const Heads& heads;
    Tile<const float> q, k, v;
    const Surroundings<float>& around;
    Tile<float> y;
    float *queries, *results, *weights;  ///< scratch: (d, lane_count), (e, n_padded), weights
};

Group group_of(const Call& call, int64_t h, int64_t first, int64_t count) {
    return group_of(call.heads, h, call.q.shape[1], call.k, call.v, call.around, first, count);
}

/// Processes a group that is one vector of lanes, in place.
void attend_whole(const Call& call, int64_t h, int64_t first) {
    const int64_t e = call.heads.n_value_dim;
    const Tile<const float> children = call.around.children;
    const float* before =
        children.data ? children.data + h * e * children.stride[0] + first : nullptr;
    attend_lanes(rows_of(call.q, h, call.heads.n_key_dim).from(first),
                 group_of(call, h, first, lane_count), e, before, children.stride[0], call.weights,
                 call.y.data + h * e * call.y.stride[0] + first, call.y.stride[0]);
}

/// Processes a group of any size: results are kept in separate memory until the whole group has
/// read v.
void attend_pieces(const Call& call, int64_t h, int64_t first, int64_t count) {
    const int64_t d = call.heads.n_key_dim, e = call.heads.n_value_dim;
    const int64_t n_padded = round_up(count, lane_count);
    const Group group = group_of(call, h, first, count);
    const bool has_children = call.around.children.data;
    if (has_children)
        copy_columns(rows_of(call.around.children, h, e).from(first), count, n_padded,
                     call.results);
    for (int64_t i = 0; i < count; i += lane_count) {
        Rows q = rows_of(call.q, h, d).from(first + i);
        if (count - i < lane_count) {
            copy_columns(q, count - i, lane_count, call.queries);
            q = {call.queries, lane_count, d};
        }
        float* y = call.results + i;
        attend_lanes(q, group, e, has_children ? y : nullptr, n_padded, call.weights, y, n_padded);
    }
    for (int64_t c = 0; c < e; ++c)
        for (int64_t i = 0; i < count; ++i)
            call.y(h * e + c, first + i) = call.results[c * n_padded + i];
}

void attend_tree(const Heads& heads, Tile<const float> q, Tile<const float> k, Tile<const float> v,
                 const Surroundings<float>& around, float* scratch, Tile<float> y) {
    float* results = scratch + heads.n_key_dim * lane_count;
    const Call call{heads,   q,       k,
                    v,       around,  y,
                    scratch, results, results + heads.n_value_dim * round_up(around.k, lane_count)};
    for (int64_t h = 0; h < heads.n_head; ++h) {
        for (int64_t first = 0; first < q.shape[1]; first += around.k) {
            const int64_t count = std::min(around.k, q.shape[1] - first);
            if (count == lane_count)
                attend_whole(call, h, first);
            else
                attend_pieces(call, h, first, count);
        }
    }
}

}  // namespace
}  // namespace surrogate::kernels::sequoia::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace surrogate::kernels::sequoia::simd {

void attend_tree(VectorLevel level, const Heads& heads, Tile<const float> q, Tile<const float> k,
                 Tile<const float> v, const Surroundings<float>& around, float* scratch,
                 Tile<float> y) {
    SURROGATE_AT_LEVEL(level, attend_tree)(heads, q, k, v, around, scratch, y);
}

}  // namespace surrogate::kernels::sequoia::simd
#endif
