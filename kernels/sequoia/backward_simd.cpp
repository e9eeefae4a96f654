// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/sequoia/backward_simd.cpp"
#include <hwy/foreach_target.h>

#include <algorithm>
#include <numbers>

#include "kernels/sequoia/backward.hpp"
#include "kernels/sequoia/group-inl.h"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::sequoia::HWY_NAMESPACE {
namespace {

/// Adds the first `count` lanes of a register block to to(r, lane), each row at its own stride.
template <int n_row>
HWY_INLINE void add_block(const Sums<n_row>& sum, int64_t count, float* to, int64_t to_row) {
    for (int r = 0; r < n_row; ++r, to += to_row) {
        if (count == lane_count) {
            for (int j = 0; j < n_vector; ++j)
                store(hn::Add(load(to + j * width), sum.at[r][j]), to + j * width);
        } else {
            alignas(64) float lane[lane_count];
            for (int j = 0; j < n_vector; ++j) store(sum.at[r][j], lane + j * width);
            for (int64_t i = 0; i < count; ++i) to[i] += lane[i];
        }
    }
}

/// Adds to(c, lane) += sum_i factor(i, lane) x(c, i) for n columns of x and `count` lanes.
HWY_NOINLINE void add_products(Rows x, int64_t n, const float* factor, int64_t factor_row,
                               int64_t count, float* to, int64_t to_row) {
    for_channel_blocks(x.n_dim, [&](int64_t c, auto n_row) HWY_ATTR {
        Sums<decltype(n_row)::value> sum;
        sum.clear();
        for (int64_t i = 0; i < n; ++i)
            sum.add(factor + i * factor_row, x.data + c * x.row + i, x.row);
        add_block(sum, count, to + c * to_row, to_row);
    });
}

/// Adds the same products to separate columns: place(lane) is the address of channel 0 of a lane's
/// column.
template <class Place>
HWY_INLINE void scatter_products(Rows x, int64_t n, const float* factor, int64_t factor_row,
                                 int64_t count, const Place& place) {
    for_channel_blocks(x.n_dim, [&](int64_t c, auto n_row) HWY_ATTR {
        Sums<decltype(n_row)::value> sum;
        sum.clear();
        for (int64_t i = 0; i < n; ++i)
            sum.add(factor + i * factor_row, x.data + c * x.row + i, x.row);
        alignas(64) float lanes[decltype(n_row)::value * lane_count];
        sum.store_to(lanes);
        for (int64_t a = 0; a < count; ++a) {
            auto [to, row] = place(a);
            to += c * row;
            for (int r = 0; r < decltype(n_row)::value; ++r, to += row)
                *to += lanes[r * lane_count + a];
        }
    });
}

/// Replaces the products <g_i, v_j> (n, lane_count) of one softmax by ds_ij.
HWY_NOINLINE void differentiate(int64_t n, const float* weights, float* slopes) {
    for (int64_t j = 0; j < lane_count; j += width) {
        Vector delta = broadcast(0.0f);
        for (int64_t i = j; i < n * lane_count; i += lane_count)
            delta = mul_add(load(weights + i), load(slopes + i), delta);
        for (int64_t i = j; i < n * lane_count; i += lane_count) {
            const Vector share = hn::Mul(broadcast(std::numbers::ln2_v<float>), load(weights + i));
            store(hn::Mul(share, hn::Sub(load(slopes + i), delta)), slopes + i);
        }
    }
}

/// Transposes (n, lane_count) to (lane_count, to_row); columns n and later are 0.
void transpose(int64_t n, const float* from, int64_t to_row, float* to) {
    for (int64_t i = 0; i < lane_count; ++i) {
        for (int64_t j = 0; j < n; ++j) to[i * to_row + j] = from[j * lane_count + i];
        for (int64_t j = n; j < to_row; ++j) to[i * to_row + j] = 0;
    }
}

/// Targets of the gradients of one head and group, at the first channel of the head.
struct Gradients {
    const NodeGradient<float>* ancestors;  ///< (n_ancestor), at channel 0
    /// Gradients dq at the first query, dk and dv at the first sibling.
    float *dq, *dk, *dv;
    int64_t dq_row, dk_row, dv_row;
};

/// Weights and ds of lane_count queries: (n, lane_count) and, for sums over queries, transposed.
struct Matrices {
    float *weights, *slopes;      ///< (n_ancestor + count, lane_count)
    float *weights_t, *slopes_t;  ///< (lane_count, row)
};

/// Adds the gradients of up to lane_count queries and all their keys; q and g have whole vectors.
void add_lanes(Rows q, Rows g, int64_t n_query, const Group& group, const Matrices& m,
               const Gradients& to) {
    const int64_t n_ancestor = group.n_ancestor, count = group.count;
    float* siblings = m.slopes + n_ancestor * lane_count;
    weigh_group(q, group, m.weights);
    multiply_ancestors(g, group, &Node<float>::v, group.value_channel, m.slopes);
    score_columns(g, group.v, group.v_row, count, siblings);
    differentiate(n_ancestor, m.weights, m.slopes);
    differentiate(count, m.weights + n_ancestor * lane_count, siblings);

    // Gradients of queries: lanes are queries, sums run over keys.
    for_channel_blocks(q.n_dim, [&](int64_t c, auto n_row) HWY_ATTR {
        Sums<decltype(n_row)::value> sum;
        sum.clear();
        for (int64_t a = 0; a < n_ancestor; ++a) {
            const Node<float>& node = group.ancestors[a];
            sum.add(m.slopes + a * lane_count, node.k + (group.key_channel + c) * node.row,
                    node.row);
        }
        for (int64_t j = 0; j < count; ++j)
            sum.add(siblings + j * lane_count, group.k + c * group.k_row + j, group.k_row);
        add_block(sum, n_query, to.dq + c * to.dq_row, to.dq_row);
    });

    // Gradients of keys: lanes are keys, sums run over queries.
    for (int64_t j = 0; j < n_ancestor; j += lane_count) {
        const int64_t n = std::min(lane_count, n_ancestor - j);
        transpose(n, m.weights + j * lane_count, lane_count, m.weights_t);
        transpose(n, m.slopes + j * lane_count, lane_count, m.slopes_t);
        scatter_products(q, n_query, m.slopes_t, lane_count, n, [&](int64_t a) {
            const NodeGradient<float>& node = to.ancestors[j + a];
            return std::pair(node.k + group.key_channel * node.row, node.row);
        });
        scatter_products(g, n_query, m.weights_t, lane_count, n, [&](int64_t a) {
            const NodeGradient<float>& node = to.ancestors[j + a];
            return std::pair(node.v + group.value_channel * node.row, node.row);
        });
    }
    for (int64_t j = 0; j < count; j += lane_count) {
        const int64_t n = std::min(lane_count, count - j), at = (n_ancestor + j) * lane_count;
        transpose(n, m.weights + at, lane_count, m.weights_t);
        transpose(n, m.slopes + at, lane_count, m.slopes_t);
        add_products(q, n_query, m.slopes_t, lane_count, n, to.dk + j, to.dk_row);
        add_products(g, n_query, m.weights_t, lane_count, n, to.dv + j, to.dv_row);
    }
}

void attend_tree_backward(const Heads& heads, Tile<const float> q, Tile<const float> k,
                          Tile<const float> v, const Surroundings<float>& around,
                          Tile<const float> g, std::span<const NodeGradient<float>> ancestors,
                          float* scratch, Tile<float> dq, Tile<float> dk, Tile<float> dv) {
    const int64_t d = heads.n_key_dim, e = heads.n_value_dim, n_node = q.shape[1];
    const int64_t n_matrix = lane_count * (around.n_ancestor + round_up(around.k, lane_count));
    float *queries = scratch, *changes = queries + d * lane_count;
    float* matrices = changes + e * lane_count;
    const Matrices m{matrices, matrices + n_matrix, matrices + 2 * n_matrix,
                     matrices + 2 * n_matrix + lane_count * lane_count};
    for (int64_t h = 0; h < heads.n_head; ++h) {
        for (int64_t first = 0; first < n_node; first += around.k) {
            const int64_t count = std::min(around.k, n_node - first);
            const Group group = group_of(heads, h, q.shape[1], k, v, around, first, count);
            for (int64_t i = first; i < first + count; i += lane_count) {
                const int64_t n = std::min(lane_count, first + count - i);
                Rows of_q = rows_of(q, h, d).from(i), of_g = rows_of(g, h, e).from(i);
                if (n < lane_count) {
                    copy_columns(of_q, n, lane_count, queries);
                    copy_columns(of_g, n, lane_count, changes);
                    of_q = {queries, lane_count, d};
                    of_g = {changes, lane_count, e};
                }
                add_lanes(of_q, of_g, n, group, m,
                          {ancestors.data() + first / around.k * around.n_ancestor, &dq(h * d, i),
                           &dk(h * d, first), &dv(h * e, first), dq.stride[0], dk.stride[0],
                           dv.stride[0]});
            }
        }
    }
}

}  // namespace
}  // namespace surrogate::kernels::sequoia::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace surrogate::kernels::sequoia::simd {

void attend_tree_backward(VectorLevel level, const Heads& heads, Tile<const float> q,
                          Tile<const float> k, Tile<const float> v,
                          const Surroundings<float>& around, Tile<const float> g,
                          std::span<const NodeGradient<float>> ancestors, float* scratch,
                          Tile<float> dq, Tile<float> dk, Tile<float> dv) {
    SURROGATE_AT_LEVEL(level, attend_tree_backward)
    (heads, q, k, v, around, g, ancestors, scratch, dq, dk, dv);
}

}  // namespace surrogate::kernels::sequoia::simd
#endif
