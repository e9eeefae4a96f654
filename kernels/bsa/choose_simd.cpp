// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/bsa/choose_simd.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>

#include <algorithm>
#include <cmath>

#include "kernels/bsa/choice_lists-inl.h"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::bsa::HWY_NAMESPACE {
namespace {

/// Rows of channels of one head.
struct Rows {
    const float* data;
    int64_t row, n_dim;
};

/// Offers keys key .. key + n_key - 1, whose channels begin at k.data. Returns true if a list
/// changed.
template <int n_key>
HWY_INLINE bool offer_keys(Rows q, Rows k, const OwnKeys& own, int64_t key, const Lists& lists,
                           Vector (&taint)[n_vector]) {
    Vector score[n_key][n_vector];
#pragma GCC unroll 8
    for (int r = 0; r < n_key; ++r) {
#pragma GCC unroll 2
        for (int j = 0; j < n_vector; ++j) score[r][j] = broadcast(0.0f);
    }
#pragma GCC unroll 4
    for (int64_t c = 0; c < q.n_dim; ++c, q.data += q.row, k.data += k.row) {
        hwy::Prefetch(k.data + lane_count);  // next cache line: other keys of this channel
        Vector group[n_vector];
#pragma GCC unroll 2
        for (int j = 0; j < n_vector; ++j) group[j] = load(q.data + j * width);
#pragma GCC unroll 8
        for (int r = 0; r < n_key; ++r) {
            const Vector x = broadcast(k.data[r]);
#pragma GCC unroll 2
            for (int j = 0; j < n_vector; ++j) score[r][j] = mul_add(group[j], x, score[r][j]);
        }
    }
#pragma GCC unroll 2
    for (int j = 0; j < n_vector; ++j) {
        // The sum is 0 if all scores are numbers. It is split in pairs, because one chain of
        // additions has a long latency.
        Vector zero[(n_key + 1) / 2];
#pragma GCC unroll 4
        for (int r = 0; r < n_key; r += 2) {
            zero[r / 2] = hn::Mul(score[r][j], broadcast(0.0f));
            if (r + 1 < n_key) zero[r / 2] = mul_add(score[r + 1][j], broadcast(0.0f), zero[r / 2]);
        }
#pragma GCC unroll 4
        for (int r = 1; r < (n_key + 1) / 2; ++r) zero[0] = hn::Add(zero[0], zero[r]);
        taint[j] = hn::Add(taint[j], zero[0]);
    }
    if (key < own.end_of_all && key + n_key > own.first_of_all) hide_own(own, key, score);
    bool has_changed = false;
#pragma GCC unroll 2
    for (int j = 0; j < n_vector; ++j) {
        Vector best = score[0][j];
#pragma GCC unroll 8
        for (int r = 1; r < n_key; ++r) best = at_least(best, score[r][j]);
        const float* worst = lists.score + (lists.n_choice - 1) * n_lane + j * width;
        if (HWY_LIKELY(hn::AllFalse(Tag(), hn::Gt(best, load(worst))))) continue;
        has_changed = true;
        float kept[n_key * width];  // registers cannot be indexed at run time
#pragma GCC unroll 8
        for (int r = 0; r < n_key; ++r) store(score[r][j], kept + r * width);
        insert_keys(kept, n_key, static_cast<int32_t>(key), lists.n_choice, lists.score + j * width,
                    lists.key + j * width);
    }
    return has_changed;
}

/// Offers all keys of a call to n_lane groups. Returns true if a list changed; taint (n_lane) is 0
/// if all scores are finite.
HWY_NOINLINE bool offer_all(Rows q, Rows k, int64_t n_key, const OwnKeys& own, const Lists& lists,
                            float* taint) {
    Vector sum[n_vector];
    for (int j = 0; j < n_vector; ++j) sum[j] = broadcast(0.0f);
    bool has_changed = false;
    int64_t key = 0;
    for (; key + n_together <= n_key; key += n_together)
        has_changed |=
            offer_keys<n_together>(q, {k.data + key, k.row, k.n_dim}, own, key, lists, sum);
    for (; key < n_key; ++key)
        has_changed |= offer_keys<1>(q, {k.data + key, k.row, k.n_dim}, own, key, lists, sum);
    for (int j = 0; j < n_vector; ++j) store(sum[j], taint + j * width);
    return has_changed;
}

float score_of(Rows q, Rows k) {
    float score = 0;
    for (int64_t c = 0; c < q.n_dim; ++c)
        score = std::fma(q.data[c * q.row], k.data[c * k.row], score);
    return score;
}

/// Offers own blocks, for groups with too few other blocks.
void offer_own(Rows q, Rows k, const OwnBlocks& own, const OwnKeys& keys, const Groups& groups,
               int64_t first_block, Choice<float> choice) {
    for (int64_t i = 0; i < groups.n; ++i) {
        const int64_t group = groups.first + i;
        const int64_t last = choice.block[choice.index(groups.head, choice.n_choice - 1, group)];
        if (last >= 0 && !is_own(own, group, last)) continue;
        for (int64_t key = keys.first[i]; key < keys.end[i]; ++key) {
            const float score = score_of({q.data + i, q.row, q.n_dim}, {k.data + key, k.row, 0});
            insert(choice, own, groups.head, group, {true, score, first_block + key});
        }
    }
}

/// Chooses the blocks of n_lane groups of one head.
bool choose_group(Rows q, Rows k, int64_t n_key, const Groups& groups, int64_t first_block,
                  const OwnBlocks& own, const OwnKeys& own_keys, const Lists& lists,
                  Choice<float> choice) {
    float taint[n_lane];
    begin_lists(choice, own_keys, groups, first_block + n_key, lists);
    if (offer_all(q, k, n_key, own_keys, lists, taint))
        end_lists(lists, groups, first_block, choice);
    if (!std::all_of(taint, taint + groups.n, [](float x) { return x == 0; })) return false;
    if (own_keys.end_of_all > 0) offer_own(q, k, own, own_keys, groups, first_block, choice);
    return true;
}

bool choose(const Heads& heads, Tile<const float> q, Tile<const float> k, int64_t first_block,
            const OwnBlocks& own, float* scratch, Choice<float> choice) {
    const int64_t n_dim = heads.n_key_dim, n_key = k.shape[1], n_group = q.shape[1];
    const Lists lists{choice.n_choice, scratch, scratch + choice.n_choice * n_lane};
    OwnKeys keys[tile_points / n_lane];
    for (int64_t first = 0; first < n_group; first += n_lane)
        keys[first / n_lane] =
            own_keys(own, {0, first, std::min(n_lane, n_group - first)}, first_block, n_key);
    for (int64_t h = 0; h < heads.n_head; ++h) {  // the keys of one head stay in the first-level
                                                  // cache
        const Rows rows{k.data + h * n_dim * k.stride[0], k.stride[0], n_dim};
        for (int64_t first = 0; first < n_group; first += n_lane) {
            const Groups groups{h, first, std::min(n_lane, n_group - first)};
            const Rows queries{q.data + h * n_dim * q.stride[0] + first, q.stride[0], n_dim};
            if (!choose_group(queries, rows, n_key, groups, first_block, own, keys[first / n_lane],
                              lists, choice))
                return false;
        }
    }
    return true;
}

}  // namespace
}  // namespace surrogate::kernels::bsa::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace surrogate::kernels::bsa::simd {

bool choose(VectorLevel level, const Heads& heads, Tile<const float> q, Tile<const float> k,
            int64_t first_block, const OwnBlocks& own, float* scratch, Choice<float> choice) {
    return SURROGATE_AT_LEVEL(level, choose)(heads, q, k, first_block, own, scratch, choice);
}

}  // namespace surrogate::kernels::bsa::simd
#endif
