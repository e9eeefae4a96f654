// SPDX-License-Identifier: Apache-2.0
// A group of siblings and the nodes that it attends to: functions that the forward and the backward
// pass share. This file is compiled once per SIMD instruction set.
#if defined(SURROGATE_SEQUOIA_GROUP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SURROGATE_SEQUOIA_GROUP_INL_H_
#undef SURROGATE_SEQUOIA_GROUP_INL_H_
#else
#define SURROGATE_SEQUOIA_GROUP_INL_H_
#endif

#include <algorithm>
#include <cmath>

#include "kernels/sequoia/lanes-inl.h"
#include "kernels/sequoia/sequoia.hpp"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::sequoia::HWY_NAMESPACE {
namespace {

/// Keys of the queries of one group in one head: its ancestors and `count` siblings. `bonus` is
/// added to the score of the last sibling.
struct Group {
    const Node<float>* ancestors;  ///< (n_ancestor)
    int64_t n_ancestor;
    int64_t key_channel, value_channel;  ///< first of the head
    const float *k, *v;                  ///< first sibling, at the first channel of the head
    int64_t k_row, v_row;
    int64_t count;
    float bonus;
};

/// Computes <x_lane, y_a> of all ancestors, with y_a a key (at channel `channel` of Node::k) or a
/// value.
HWY_INLINE void multiply_ancestors(Rows x, const Group& group, const float* Node<float>::*y,
                                   int64_t channel, float* products) {
    for (int64_t a = 0; a < group.n_ancestor;) {
        constexpr int n_most = 6;
        const float* at[n_most];
        int64_t row[n_most];
        const int64_t n = std::min<int64_t>(n_most, group.n_ancestor - a);
        for (int64_t r = 0; r < n; ++r) {
            const Node<float>& node = group.ancestors[a + r];
            at[r] = node.*y + channel * node.row;
            row[r] = node.row;
        }
        float* const to = products + a * lane_count;
        switch (n) {
            case 6: multiply_nodes<6>(x, at, row, to); break;
            case 5: multiply_nodes<5>(x, at, row, to); break;
            case 4: multiply_nodes<4>(x, at, row, to); break;
            case 3: multiply_nodes<3>(x, at, row, to); break;
            case 2: multiply_nodes<2>(x, at, row, to); break;
            default: multiply_nodes<1>(x, at, row, to);
        }
        a += n;
    }
}

/// Completes the weights of lane_count queries, whose scores of ancestors are given: (n_ancestor +
/// count, lane_count); the weights of each softmax add up to 1.
HWY_INLINE void weigh_kin(Rows q, const Group& group, float* weights) {
    if (group.n_ancestor > 0) weigh(group.n_ancestor, weights);
    if (group.count == 0) return;
    float* siblings = weights + group.n_ancestor * lane_count;
    score_columns(q, group.k, group.k_row, group.count, siblings);
    if (group.bonus != 0) {
        float* last = siblings + (group.count - 1) * lane_count;
        for (int64_t j = 0; j < lane_count; j += width)
            store(hn::Add(load(last + j), broadcast(group.bonus)), last + j);
    }
    weigh(group.count, siblings);
}

/// Computes the weights of lane_count queries.
HWY_INLINE void weigh_group(Rows q, const Group& group, float* weights) {
    multiply_ancestors(q, group, &Node<float>::k, group.key_channel, weights);
    weigh_kin(q, group, weights);
}

inline Group group_of(const Heads& heads, int64_t h, int64_t n_node, Tile<const float> k,
                      Tile<const float> v, const Surroundings<float>& around, int64_t first,
                      int64_t count) {
    const int64_t d = heads.n_key_dim, e = heads.n_value_dim;
    const bool has_end = first + count == n_node;
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

}  // namespace
}  // namespace surrogate::kernels::sequoia::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
