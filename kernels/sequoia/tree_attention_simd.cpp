// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/sequoia/tree_attention_simd.cpp"
#include <hwy/foreach_target.h>

#include <algorithm>
#include <cmath>

#include "kernels/sequoia/backward.hpp"
#include "kernels/sequoia/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::sequoia::HWY_NAMESPACE {
namespace {

/// What the queries of one group attend to, of one head: its ancestors and `count` siblings, the last
/// of which adds `bonus` to its score.
struct Group {
    const Node<float>* ancestors;  ///< (n_ancestor)
    int64_t n_ancestor;
    int64_t key_channel, value_channel;  ///< first of the head
    const float *k, *v;                  ///< first sibling, at the first channel of the head
    int64_t k_row, v_row;
    int64_t count;
    float bonus;
};

/// Weights of n_lane queries: (n_ancestor + count, n_lane), those of each softmax add up to 1.
HWY_INLINE void weigh_group(Rows q, const Group& group, float* weights) {
    for (int64_t a = 0; a < group.n_ancestor; ++a) {
        const Node<float>& node = group.ancestors[a];
        score_block<1>(q, node.k + group.key_channel * node.row, node.row, weights + a * n_lane);
    }
    if (group.n_ancestor > 0) weigh(group.n_ancestor, weights);
    if (group.count == 0) return;
    float* siblings = weights + group.n_ancestor * n_lane;
    score_columns(q, group.k, group.k_row, group.count, siblings);
    if (group.bonus != 0) {
        float* last = siblings + (group.count - 1) * n_lane;
        for (int64_t j = 0; j < n_lane; j += width)
            store(hn::Add(load(last + j), broadcast(group.bonus)), last + j);
    }
    weigh(group.count, siblings);
}

/// y = (ancestors + siblings + children) / 3 of n_row channels from c on. children may be y, or null.
template <int n_row>
HWY_NOINLINE void average_rows(const Group& group, const float* weights, int64_t c,
                               const float* children, int64_t children_row, float* y,
                               int64_t y_row) {
    Sums<n_row> sum;
    sum.clear();
    for (int64_t a = 0; a < group.n_ancestor; ++a, weights += n_lane) {
        const Node<float>& node = group.ancestors[a];
        sum.add(weights, node.v + (group.value_channel + c) * node.row, node.row);
    }
    const float* v = group.v + c * group.v_row;
    for (int64_t j = 0; j < group.count; ++j, weights += n_lane)
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

/// n_lane queries; y (e, n_lane) rows.
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
    const auto& [heads, q, k, v, around, y, queries, results, weights] = call;
    const int64_t d = heads.n_key_dim, e = heads.n_value_dim;
    const bool has_end = first + count == q.shape[1];
    return {around.ancestors.data() + first / around.k * around.n_ancestor,
            around.n_ancestor,
            h * d,
            h * e,
            k.data + h * d * k.stride[0] + first,
            v.data + h * e * v.stride[0] + first,
            k.stride[0],
            v.stride[0],
            around.has_siblings ? count : 0,
            has_end ? static_cast<float>(std::log2(around.n_last)) : 0.0f};
}

/// A group that is one vector of lanes, in place.
void attend_whole(const Call& call, int64_t h, int64_t first) {
    const int64_t e = call.heads.n_value_dim;
    const Tile<const float> children = call.around.children;
    const float* before =
        children.data ? children.data + h * e * children.stride[0] + first : nullptr;
    attend_lanes(rows_of(call.q, h, call.heads.n_key_dim).from(first),
                 group_of(call, h, first, n_lane), e, before, children.stride[0], call.weights,
                 call.y.data + h * e * call.y.stride[0] + first, call.y.stride[0]);
}

/// A group of any size: results wait in memory of our own until all of it has read v.
void attend_pieces(const Call& call, int64_t h, int64_t first, int64_t count) {
    const int64_t d = call.heads.n_key_dim, e = call.heads.n_value_dim;
    const int64_t n_padded = round_up(count, lane_count);
    const Group group = group_of(call, h, first, count);
    const bool has_children = call.around.children.data;
    if (has_children)
        copy_columns(rows_of(call.around.children, h, e).from(first), count, n_padded,
                     call.results);
    for (int64_t i = 0; i < count; i += n_lane) {
        Rows q = rows_of(call.q, h, d).from(first + i);
        if (count - i < n_lane) {
            copy_columns(q, count - i, n_lane, call.queries);
            q = {call.queries, n_lane, d};
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
            if (count == n_lane)
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

// Not yet written for vectors: the reference in single precision.
void attend_tree_backward(VectorLevel, const Heads& heads, Tile<const float> q, Tile<const float> k,
                          Tile<const float> v, const Surroundings<float>& around,
                          Tile<const float> g, std::span<const NodeGradient<float>> ancestors,
                          float* scratch, Tile<float> dq, Tile<float> dk, Tile<float> dv) {
    ref::attend_tree_backward(heads, q, k, v, around, g, ancestors, scratch, dq, dk, dv);
}
void attend_children_backward(VectorLevel, const Heads& heads, int64_t k_branch, int64_t n_last,
                              Tile<const float> q, Tile<const float> k, Tile<const float> v,
                              Tile<const float> g, float* scratch, Tile<float> dq, Tile<float> dk,
                              Tile<float> dv) {
    ref::attend_children_backward(heads, k_branch, n_last, q, k, v, g, scratch, dq, dk, dv);
}

}  // namespace surrogate::kernels::sequoia::simd
#endif
