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

/// Memory of the results of a head: y (e, ..) rows; children may be y, or null.
struct Target {
    const float* children;
    int64_t children_row;
    float* y;
    int64_t y_row;

    Target from(int64_t column) const {
        return {children ? children + column : nullptr, children_row, y + column, y_row};
    }
};

/// Computes y = (ancestors + siblings + children) / 3 of n_row channels from c on, for n_group
/// groups whose columns and whose weights, weight_step apart, follow each other. Several groups
/// hide the latency of sums.
template <int n_row, int n_group>
HWY_NOINLINE void average_rows(const Group* groups, const float* weights, int64_t weight_step,
                               int64_t c, const Target& to) {
    const Group& first = groups[0];
    Sums<n_row> sum[n_group];
#pragma GCC unroll 2
    for (int g = 0; g < n_group; ++g) sum[g].clear();
    for (int64_t a = 0; a < first.n_ancestor; ++a, weights += lane_count) {
#pragma GCC unroll 2
        for (int g = 0; g < n_group; ++g) {
            const Node<float>& node = groups[g].ancestors[a];
            sum[g].add(weights + g * weight_step, node.v + (first.value_channel + c) * node.row,
                       node.row);
        }
    }
    const float* v = first.v + c * first.v_row;
    for (int64_t j = 0; j < first.count; ++j, weights += lane_count) {
#pragma GCC unroll 2
        for (int g = 0; g < n_group; ++g)
            sum[g].add(weights + g * weight_step, v + g * lane_count + j, first.v_row);
    }
#pragma GCC unroll 2
    for (int g = 0; g < n_group; ++g) {
        const Target at = to.from(g * lane_count);
#pragma GCC unroll 8
        for (int r = 0; r < n_row; ++r) {
#pragma GCC unroll 2
            for (int j = 0; j < n_vector; ++j) {
                Vector value = sum[g].at[r][j];
                if (at.children)
                    value =
                        hn::Add(value, load(at.children + (c + r) * at.children_row + j * width));
                store(hn::Mul(value, broadcast(1.0f / 3)), at.y + (c + r) * at.y_row + j * width);
            }
        }
    }
}

/// Processes lane_count queries.
HWY_INLINE void attend_lanes(Rows q, const Group& group, int64_t n_value_dim, float* weights,
                             const Target& to) {
    weigh_group(q, group, weights);
    for_channel_blocks(n_value_dim, [&](int64_t c, auto n) HWY_ATTR {
        average_rows<decltype(n)::value, 1>(&group, weights, 0, c, to);
    });
}

#if HWY_TARGET == HWY_AVX3

/// Number of neighboring groups of 16 queries whose scores of ancestors are computed together.
constexpr int n_together = 4;

/// Computes scores of n_together groups x, side by side: the parent of each group, if has_own,
/// and n_shared ancestors of all groups. All keys have stride `row`. Scores of a group are
/// `step` apart from the scores of the next group.
template <bool has_own, int n_shared>
HWY_NOINLINE void multiply_kin(Rows x, const float* const* own, const float* const* shared,
                               int64_t row, float* scores, int64_t step) {
    Vector own_sum[n_together], sum[n_shared + 1][n_together];
#pragma GCC unroll 4
    for (int g = 0; g < n_together; ++g) {
        own_sum[g] = broadcast(0.0f);
#pragma GCC unroll 4
        for (int r = 0; r < n_shared; ++r) sum[r][g] = broadcast(0.0f);
    }
    const float* point = x.data;
    int64_t at = 0;
    for (int64_t c = 0; c < x.n_dim; ++c, point += x.row, at += row) {
        Vector lanes[n_together];
#pragma GCC unroll 4
        for (int g = 0; g < n_together; ++g) {
            lanes[g] = load(point + g * width);
            if constexpr (has_own)
                own_sum[g] = mul_add(lanes[g], broadcast(own[g][at]), own_sum[g]);
        }
#pragma GCC unroll 4
        for (int r = 0; r < n_shared; ++r) {
            const Vector value = broadcast(shared[r][at]);
#pragma GCC unroll 4
            for (int g = 0; g < n_together; ++g) sum[r][g] = mul_add(lanes[g], value, sum[r][g]);
        }
    }
#pragma GCC unroll 4
    for (int g = 0; g < n_together; ++g) {
        float* to = scores + g * step;
        if constexpr (has_own) {
            store(own_sum[g], to);
            to += lane_count;
        }
#pragma GCC unroll 4
        for (int r = 0; r < n_shared; ++r) store(sum[r][g], to + r * lane_count);
    }
}

/// Returns true if the groups differ in their parents only, as neighbors below one grandparent do.
bool are_cousins(const Group* groups) {
    const Group& first = groups[0];
    for (int64_t a = 0; a < first.n_ancestor; ++a) {
        for (int g = 0; g < n_together; ++g) {
            const Node<float>& node = groups[g].ancestors[a];
            if (node.row != first.ancestors[0].row) return false;
            if (a > 0 && node.k != first.ancestors[a].k) return false;
        }
    }
    return true;
}

/// Computes the scores of ancestors of n_together groups that are cousins.
HWY_INLINE void score_kin(Rows q, const Group* groups, float* scores, int64_t step) {
    const Group& first = groups[0];
    if (first.n_ancestor == 0) return;
    const int64_t row = first.ancestors[0].row, skipped = first.key_channel * row;
    const float *own[n_together], *shared[3];
    for (int g = 0; g < n_together; ++g) own[g] = groups[g].ancestors[0].k + skipped;
    for (int64_t a = 1; a == 1 || a < first.n_ancestor; a += 3) {
        const auto n = static_cast<int>(std::min<int64_t>(3, first.n_ancestor - a));
        for (int r = 0; r < n; ++r) shared[r] = first.ancestors[a + r].k + skipped;
        float* const to = scores + (a - 1) * lane_count;
        switch (a == 1 ? n : n + 3) {
            case 0: multiply_kin<true, 0>(q, own, shared, row, to, step); break;
            case 1: multiply_kin<true, 1>(q, own, shared, row, to, step); break;
            case 2: multiply_kin<true, 2>(q, own, shared, row, to, step); break;
            case 3: multiply_kin<true, 3>(q, own, shared, row, to, step); break;
            case 4: multiply_kin<false, 1>(q, own, shared, row, to + lane_count, step); break;
            case 5: multiply_kin<false, 2>(q, own, shared, row, to + lane_count, step); break;
            default: multiply_kin<false, 3>(q, own, shared, row, to + lane_count, step);
        }
    }
}

#endif

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

Target target_of(const Call& call, int64_t h, int64_t first) {
    const int64_t e = call.heads.n_value_dim;
    const Tile<const float> children = call.around.children;
    return {children.data ? children.data + h * e * children.stride[0] + first : nullptr,
            children.stride[0], call.y.data + h * e * call.y.stride[0] + first, call.y.stride[0]};
}

/// Processes a group that is one vector of lanes, in place.
void attend_whole(const Call& call, int64_t h, int64_t first) {
    attend_lanes(rows_of(call.q, h, call.heads.n_key_dim).from(first),
                 group_of(call, h, first, lane_count), call.heads.n_value_dim, call.weights,
                 target_of(call, h, first));
}

/// Processes whole groups from column `first` on, n_together at a time: a loaded line of the keys
/// and values of ancestors serves all of them. Returns the first column that it has not processed.
int64_t attend_cousins([[maybe_unused]] const Call& call, [[maybe_unused]] int64_t h,
                       int64_t first) {
#if HWY_TARGET == HWY_AVX3
    constexpr int64_t n_lane = n_together * lane_count;
    const int64_t step = (call.around.n_ancestor + lane_count) * lane_count;
    if (call.around.k != lane_count) return first;
    for (; first + n_lane <= call.q.shape[1]; first += n_lane) {
        Group groups[n_together];
        for (int g = 0; g < n_together; ++g)
            groups[g] = group_of(call, h, first + g * lane_count, lane_count);
        if (!are_cousins(groups)) return first;
        const Rows q = rows_of(call.q, h, call.heads.n_key_dim).from(first);
        score_kin(q, groups, call.weights, step);
        for (int g = 0; g < n_together; ++g)
            weigh_kin(q.from(g * lane_count), groups[g], call.weights + g * step);
        const Target to = target_of(call, h, first);
        for_channel_blocks(call.heads.n_value_dim, [&](int64_t c, auto n) HWY_ATTR {
            for (int g = 0; g < n_together; g += 2)
                average_rows<decltype(n)::value, 2>(groups + g, call.weights + g * step, step, c,
                                                    to.from(g * lane_count));
        });
    }
#endif
    return first;
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
        attend_lanes(q, group, e, call.weights,
                     {has_children ? y : nullptr, n_padded, y, n_padded});
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
        for (int64_t first = attend_cousins(call, h, 0); first < q.shape[1]; first += around.k) {
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
