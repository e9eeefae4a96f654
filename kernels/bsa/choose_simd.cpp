// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/bsa/choose_simd.cpp"
#include <hwy/foreach_target.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "kernels/base/vector-inl.h"
#include "kernels/bsa/choice_order.hpp"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::bsa::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using namespace surrogate::kernels::HWY_NAMESPACE;

/// Vectors of groups that go together: 16 lanes at every level that has them.
constexpr int n_vector = width == 8 ? 2 : 1;
constexpr int64_t n_lane = n_vector * width;
/// Keys scored at once: 8 sums in flight fill both multiply-add units of today's processors.
constexpr int n_together = width == 16 ? 8 : 4;

constexpr float infinity = std::numeric_limits<float>::infinity();

using IntTag = hn::RebindToSigned<Tag>;

/// The best so far of n_lane groups of one head while keys of one call come in, rows of n_lane. A
/// key of this call is known by its number in the call, an entry of earlier calls by -1 - rank. Keys
/// come in ascending order, so that one with an equal score goes behind: strict comparisons are
/// enough if entries with larger block numbers are held just below their scores.
struct Lists {
    int64_t n_choice;
    float* score;  ///< (n_choice, n_lane)
    float* key;    ///< (n_choice, n_lane) bits of int32_t

    int32_t key_at(int64_t rank, int64_t lane) const {
        return std::bit_cast<int32_t>(key[rank * n_lane + lane]);
    }
};

/// Own blocks of each lane, as numbers and as keys of the call, and the keys of all lanes together.
struct OwnKeys {
    int64_t first_block[n_lane], end_block[n_lane];
    int32_t first[n_lane], end[n_lane];
    int64_t first_of_all, end_of_all;
};

/// Groups first .. first + n - 1 of a head.
struct Groups {
    int64_t head, first, n;
};

/// The next float below a finite x; -infinity below the lowest.
HWY_INLINE float just_below(float x) {
    const auto bits = std::bit_cast<int32_t>(x);
    const int32_t next = bits < 0 ? bits + 1 : bits - 1;  // away from zero, and towards it
    return std::bit_cast<float>((bits & 0x7fffffff) == 0 ? int32_t(0x80000001) : next);
}

OwnKeys own_keys(const OwnBlocks& own, const Groups& groups, int64_t first_block, int64_t n_key) {
    OwnKeys keys{};
    keys.first_of_all = n_key;
    for (int64_t i = 0; i < groups.n && own.count > 0; ++i) {
        const int64_t begin = own.first[groups.first + i];
        keys.first_block[i] = begin;
        keys.end_block[i] = begin + own.count;
        const int64_t first = std::clamp<int64_t>(begin - first_block, 0, n_key);
        const int64_t end = std::clamp<int64_t>(begin + own.count - first_block, first, n_key);
        keys.first[i] = static_cast<int32_t>(first);
        keys.end[i] = static_cast<int32_t>(end);
        if (first == end) continue;
        keys.first_of_all = std::min(keys.first_of_all, first);
        keys.end_of_all = std::max(keys.end_of_all, end);
    }
    return keys;
}

/// Entries that any block outside the own ball displaces count as -infinity; lanes without a group
/// take nothing. Written without branches, which would go wrong about as often as right.
void begin_lists(Choice<float> choice, const OwnKeys& own, const Groups& groups, int64_t end_block,
                 const Lists& lists) {
    for (int64_t rank = 0; rank < lists.n_choice; ++rank) {
        const int64_t at = choice.index(groups.head, rank, groups.first);
        const float *score = choice.score + at, key = std::bit_cast<float>(int32_t(-1 - rank));
        const int64_t* block = choice.block + at;
        float* to = lists.score + rank * n_lane;
        for (int64_t i = 0; i < n_lane; ++i) {
            const bool is_own = block[i] >= own.first_block[i] && block[i] < own.end_block[i];
            const float held = block[i] >= end_block ? just_below(score[i]) : score[i];
            to[i] = block[i] < 0 || is_own ? -infinity : held;
            lists.key[rank * n_lane + i] = key;
        }
        std::fill(to + groups.n, to + n_lane, infinity);
    }
}

/// Entries only ever move to later ranks, so that the last rank comes first.
void end_lists(const Lists& lists, const Groups& groups, int64_t first_block,
               Choice<float> choice) {
    for (int64_t rank = lists.n_choice - 1; rank >= 0; --rank) {
        const int64_t to = choice.index(groups.head, rank, groups.first);
        for (int64_t i = 0; i < groups.n; ++i) {
            const int32_t key = lists.key_at(rank, i);
            const int64_t from =
                choice.index(groups.head, key < 0 ? -1 - key : 0, groups.first) + i;
            const float score = choice.score[from], new_score = lists.score[rank * n_lane + i];
            const int64_t block = choice.block[from];
            choice.score[to + i] = key < 0 ? score : new_score;
            choice.block[to + i] = key < 0 ? block : first_block + key;
        }
    }
}

/// One key for one vector of lanes, from the last rank up: a rank takes the entry above it, the key,
/// or stays as it is.
HWY_INLINE void insert_key(Vector score, int32_t key, int64_t n_choice, float* scores,
                           float* keys) {
    const Vector number = hn::BitCast(Tag(), hn::Set(IntTag(), key));
    Vector old_score = load(scores + (n_choice - 1) * n_lane);
    Vector old_key = load(keys + (n_choice - 1) * n_lane);
    auto is_above = hn::Gt(score, old_score);
    for (int64_t rank = n_choice - 1; rank > 0; --rank) {
        const Vector upper_score = load(scores + (rank - 1) * n_lane);
        const Vector upper_key = load(keys + (rank - 1) * n_lane);
        const auto is_above_upper = hn::Gt(score, upper_score);
        const Vector new_score = hn::IfThenElse(is_above, score, old_score);
        const Vector new_key = hn::IfThenElse(is_above, number, old_key);
        store(hn::IfThenElse(is_above_upper, upper_score, new_score), scores + rank * n_lane);
        store(hn::IfThenElse(is_above_upper, upper_key, new_key), keys + rank * n_lane);
        old_score = upper_score;
        old_key = upper_key;
        is_above = is_above_upper;
    }
    store(hn::IfThenElse(is_above, score, old_score), scores);
    store(hn::IfThenElse(is_above, number, old_key), keys);
}

/// n keys from `key` on, their scores (n, width).
HWY_NOINLINE void insert_keys(const float* score, int64_t n, int32_t key, int64_t n_choice,
                              float* scores, float* keys) {
    const float* worst = scores + (n_choice - 1) * n_lane;
    for (int64_t r = 0; r < n; ++r) {
        const Vector x = load(score + r * width);
        if (hn::AllFalse(Tag(), hn::Gt(x, load(worst)))) continue;
        insert_key(x, key + static_cast<int32_t>(r), n_choice, scores, keys);
    }
}

/// Scores of own blocks become -infinity.
template <int n_key>
HWY_INLINE void hide_own(const OwnKeys& own, int64_t key, Vector (&score)[n_key][n_vector]) {
    const IntTag ints;
    for (int j = 0; j < n_vector; ++j) {
        const auto first = hn::LoadU(ints, own.first + j * width);
        const auto end = hn::LoadU(ints, own.end + j * width);
#pragma GCC unroll 8
        for (int r = 0; r < n_key; ++r) {
            const auto number = hn::Set(ints, static_cast<int32_t>(key + r));
            const auto is_own = hn::AndNot(hn::VecFromMask(ints, hn::Lt(number, first)),
                                           hn::VecFromMask(ints, hn::Lt(number, end)));
            score[r][j] = hn::IfThenElse(hn::MaskFromVec(hn::BitCast(Tag(), is_own)),
                                         broadcast(-infinity), score[r][j]);
        }
    }
}

/// Rows of channels of one head.
struct Rows {
    const float* data;
    int64_t row, n_dim;
};

/// Keys key .. key + n_key - 1, whose channels begin at k.data. Returns whether a list changed.
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
        // 0 for numbers; by twos, as one sum of all would be a long wait.
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
        float kept[n_key * width];  // for numbers that change at run time: registers have none
#pragma GCC unroll 8
        for (int r = 0; r < n_key; ++r) store(score[r][j], kept + r * width);
        insert_keys(kept, n_key, static_cast<int32_t>(key), lists.n_choice, lists.score + j * width,
                    lists.key + j * width);
    }
    return has_changed;
}

/// All keys of a call to n_lane groups. Returns whether a list changed; taint (n_lane) is 0 where all
/// scores are finite.
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

/// Own blocks count only where there are too few others.
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

/// n_lane groups of one head.
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
    for (int64_t h = 0; h < heads.n_head; ++h) {  // keys of one head stay in the first-level cache
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
