// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "kernels/attention/attention.hpp"
#include "kernels/base/queue.hpp"
#include "kernels/base/tiles.hpp"

/// What Ball Sparse Attention computes beyond softmax attention (kernels/attention): distances in a
/// ball, coarse blocks, the choice of blocks, attention to chosen blocks, gates. Points are slots of
/// a ball tree, in tiles. Source: arXiv:2506.12541; the specification of the family.
namespace surrogate::kernels::bsa {

/// distance(j, i) = |b_j - a_i|.
///   a (d, n_a), b (d, n_b), distance (n_b, n_a) tiles; d = 1 .. 3
/// Differences first, then squares: exact for equal points. Sums over axes in order, fused.
template <class T>
void distances(const Queue& queue, Tile<const T> a, Tile<const T> b, Tile<T> distance);

/// y(c, b) = mean of x(c, s) over the `l` slots s = (first_block + b) l ..   y (n_channel, n_block)
template <class T>
void block_means(const Queue& queue, int64_t l, Tiles<const T> x, int64_t first_block, Tile<T> y);
/// dx(c, s) += dy(c, b) / l
template <class T>
void block_means_backward(const Queue& queue, int64_t l, Tile<const T> dy, int64_t first_block,
                          Tiles<T> dx);

/// y(t*d + c, b) = x(head*d + c, (first_block + b) l + t): the slots of a block side by side.
///   y (l*d, n_block)
template <class T>
void fold_blocks(const Queue& queue, int64_t l, int64_t n_dim, int64_t head, Tiles<const T> x,
                 int64_t first_block, Tile<T> y);
/// dx(head*d + c, (first_block + b) l + t) += dy(t*d + c, b)
template <class T>
void fold_blocks_backward(const Queue& queue, int64_t l, int64_t n_dim, int64_t head,
                          Tile<const T> dy, int64_t first_block, Tiles<T> dx);

// ---- which blocks a group of slots attends to

/// The best blocks of a tile of at most tile_points groups so far. By the total order: blocks outside
/// the group's own ball before those inside, larger scores first, smaller block numbers first. The
/// result does not depend on the order in which keys come.
///   score (H, n_choice, tile_points), block (H, n_choice, tile_points): best first; block -1: none
template <class T>
struct Choice {
    int64_t n_head = 0, n_choice = 0;
    T* score = nullptr;
    int64_t* block = nullptr;

    int64_t size() const { return n_head * n_choice * tile_points; }  ///< elements of each
    int64_t index(int64_t head, int64_t rank, int64_t group) const {
        return (head * n_choice + rank) * tile_points + group;
    }
};

template <class T>
void reset(Choice<T> choice);

/// Blocks of the own ball of each group of a tile: first[i] .. first[i] + count - 1. count 0: no
/// block is the group's own.
struct OwnBlocks {
    const int64_t* first = nullptr;  ///< (n_group)
    int64_t count = 0;
};

/// Offers blocks first_block .. first_block + n_key - 1 with scores <q_p, k_b>, in base 2.
///   q (H*d, n_group), k (H*d, n_key) tiles; scratch: choose_scratch() elements of this thread
/// Scores are sums over channels in order, fused: the same bits wherever they are computed. Returns
/// false if a score is not finite; the choice is then meaningless.
template <class T>
bool choose(const Queue& queue, const Heads& heads, Tile<const T> q, Tile<const T> k,
            int64_t first_block, const OwnBlocks& own, T* scratch, Choice<T> choice);

int64_t choose_scratch(const Heads& heads);

/// The chosen blocks of a head and group, ascending, to `blocks`; returns how many.
template <class T>
int64_t sorted_choice(Choice<T> choice, int64_t head, int64_t group, int64_t* blocks);

/// Keys and values of one head in a block of l slots: channel c of slot t at k[c * row + t].
template <class T>
struct KeyBlock {
    T* k = nullptr;
    T* v = nullptr;
    int64_t row = 0;
};

/// Attention of each group of `g` slots of a tile to its own few blocks.
///   q, y  (H*d, n_query), (H*e, n_query) tiles; group of query i: i / g
///   blocks (n_group, H, n_choice), the choice of a group and head in ascending order
///   log_sum (H, n_query) as log_sums() gives it; data null: not wanted
///   scratch  attend_blocks_scratch() elements, of this thread
/// Keys in the order of blocks: the same bits on every vector level.
template <class T>
void attend_blocks(const Queue& queue, const Heads& heads, int64_t l, int64_t g, Tile<const T> q,
                   std::span<const KeyBlock<const T>> blocks, int64_t n_choice, T* scratch,
                   Tile<T> y, Tile<T> log_sum);

int64_t attend_blocks_scratch(const Heads& heads, int64_t l, int64_t n_choice);

/// dq (H*d, n_query) +=, and the gradients of keys and values += in `gradients`, which lie as
/// `blocks`. Blocks that several groups chose are added to in ascending order of groups.
template <class T>
void attend_blocks_backward(const Queue& queue, const Heads& heads, int64_t l, int64_t g,
                            const AttendGradient<T>& of, std::span<const KeyBlock<const T>> blocks,
                            std::span<const KeyBlock<T>> gradients, int64_t n_choice, T* scratch,
                            Tile<T> dq);

// ---- gates

/// y(h*e + c, i) = sum_b sigmoid(gate(h*n_branch + b, i)) branch_b(h*e + c, i), in the order of b.
///   gate (H*n_branch, n), branches and y (H*e, n) tiles; y may be a branch
template <class T>
void combine(const Queue& queue, int64_t n_head, Tile<const T> gate,
             std::span<const Tile<const T>> branches, Tile<T> y);

/// dbranch_b = sigmoid(gate) dy, dgate(h*n_branch + b) = sum_c dy branch_b * sigmoid' .
template <class T>
void combine_backward(const Queue& queue, int64_t n_head, Tile<const T> gate,
                      std::span<const Tile<const T>> branches, Tile<const T> dy,
                      std::span<const Tile<T>> dbranches, Tile<T> dgate);

}  // namespace surrogate::kernels::bsa
