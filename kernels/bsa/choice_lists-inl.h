// SPDX-License-Identifier: Apache-2.0
// The best blocks of some groups while keys are offered. This file is compiled once per SIMD
// instruction set. Lanes run along groups.
#if defined(SURROGATE_CHOICE_LISTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SURROGATE_CHOICE_LISTS_INL_H_
#undef SURROGATE_CHOICE_LISTS_INL_H_
#else
#define SURROGATE_CHOICE_LISTS_INL_H_
#endif

#include <algorithm>
#include <bit>
#include <limits>

#include "kernels/base/vector-inl.h"
#include "kernels/bsa/choice_order.hpp"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::bsa::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using namespace surrogate::kernels::HWY_NAMESPACE;

/// Number of vectors of groups that are processed together: 16 lanes on every instruction set that
/// has them.
constexpr int n_vector = width == 8 ? 2 : 1;
constexpr int64_t n_lane = n_vector * width;
/// Keys scored at once: 8 sums in flight fill both multiply-add units of current processors.
constexpr int n_together = width == 16 ? 8 : 4;

constexpr float infinity = std::numeric_limits<float>::infinity();

using IntTag = hn::RebindToSigned<Tag>;

/// The best blocks so far of n_lane groups of one head, in rows of n_lane, while the keys of one
/// call are offered. A key of this call is stored as its number in the call, an entry of earlier
/// calls as -1 - rank. Keys are offered in ascending order, so that a key with an equal score is
/// inserted after it. Strict comparisons are sufficient if entries with larger block numbers are
/// held just below their scores.
struct Lists {
    int64_t n_choice;
    float* score;  ///< (n_choice, n_lane)
    float* key;    ///< (n_choice, n_lane) bits of int32_t

    int32_t key_at(int64_t rank, int64_t lane) const {
        return std::bit_cast<int32_t>(key[rank * n_lane + lane]);
    }
};

/// Own blocks of each lane, as block numbers and as keys of the call, and the keys of all lanes
/// together.
struct OwnKeys {
    int64_t first_block[n_lane], end_block[n_lane];
    int32_t first[n_lane], end[n_lane];
    int64_t first_of_all, end_of_all;
};

/// Groups first .. first + n - 1 of a head.
struct Groups {
    int64_t head, first, n;
};

/// Returns the next float below a finite x; -infinity below the lowest.
HWY_INLINE float just_below(float x) {
    const auto bits = std::bit_cast<int32_t>(x);
    const int32_t next = bits < 0 ? bits + 1 : bits - 1;  // negative numbers: away from zero;
                                                          // others: towards zero
    return std::bit_cast<float>((bits & 0x7fffffff) == 0 ? int32_t(0x80000001) : next);
}

inline OwnKeys own_keys(const OwnBlocks& own, const Groups& groups, int64_t first_block,
                        int64_t n_key) {
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

/// Fills the lists from `choice`. Entries that any block outside the own ball displaces count as
/// -infinity; lanes without a group accept no key. Written without branches, which would be
/// mispredicted half of the time.
inline void begin_lists(Choice<float> choice, const OwnKeys& own, const Groups& groups,
                        int64_t end_block, const Lists& lists) {
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

/// Writes the lists back to the choice. Entries only move to later ranks, so the last rank is
/// written first.
inline void end_lists(const Lists& lists, const Groups& groups, int64_t first_block,
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

/// Inserts one key for one vector of lanes, from the last rank to the first: a rank gets the entry
/// before it, the key, or stays unchanged.
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

/// Inserts n keys from `key` on, with scores (n, width).
inline HWY_NOINLINE void insert_keys(const float* score, int64_t n, int32_t key, int64_t n_choice,
                                     float* scores, float* keys) {
    const float* worst = scores + (n_choice - 1) * n_lane;
    for (int64_t r = 0; r < n; ++r) {
        const Vector x = load(score + r * width);
        if (hn::AllFalse(Tag(), hn::Gt(x, load(worst)))) continue;
        insert_key(x, key + static_cast<int32_t>(r), n_choice, scores, keys);
    }
}

/// Sets the scores of own blocks to -infinity.
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

}  // namespace surrogate::kernels::bsa::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
