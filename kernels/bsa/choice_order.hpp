// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/bsa/bsa.hpp"

namespace surrogate::kernels::bsa {

/// One block as a candidate of a group.
template <class T>
struct Candidate {
    bool is_own = false;
    T score = 0;
    int64_t block = -1;
};

/// Compares two candidates by the total order of Choice.
template <class T>
bool is_better(const Candidate<T>& a, const Candidate<T>& b) {
    if (a.is_own != b.is_own) return b.is_own;
    if (a.score != b.score) return a.score > b.score;
    return a.block < b.block;
}

inline bool is_own(const OwnBlocks& own, int64_t group, int64_t block) {
    return own.count > 0 && block >= own.first[group] && block < own.first[group] + own.count;
}

/// Inserts a block at its rank; the last entry is dropped.
template <class T>
void insert(Choice<T> choice, const OwnBlocks& own, int64_t head, int64_t group,
            const Candidate<T>& candidate) {
    int64_t rank = choice.n_choice;
    for (; rank > 0; --rank) {
        const int64_t above = choice.index(head, rank - 1, group), block = choice.block[above];
        if (block >= 0 &&
            !is_better(candidate, {is_own(own, group, block), choice.score[above], block}))
            break;
        if (rank == choice.n_choice) continue;
        choice.score[choice.index(head, rank, group)] = choice.score[above];
        choice.block[choice.index(head, rank, group)] = block;
    }
    if (rank == choice.n_choice) return;
    choice.score[choice.index(head, rank, group)] = candidate.score;
    choice.block[choice.index(head, rank, group)] = candidate.block;
}

}  // namespace surrogate::kernels::bsa
