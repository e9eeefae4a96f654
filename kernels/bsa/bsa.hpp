// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "kernels/attention/attention.hpp"
#include "kernels/base/queue.hpp"
#include "kernels/base/tiles.hpp"

/// Kernels of Ball Sparse Attention besides softmax attention (kernels/attention): distances in a
/// ball, coarse blocks, the choice of blocks, attention to chosen blocks, gates. Points are slots
/// of a ball tree, in tiles. Source: arXiv:2506.12541; the specification of the family.
namespace surrogate::kernels::bsa {

/// Computes distance(j, i) = |b_j - a_i|.
///   a (d, n_a), b (d, n_b), distance (n_b, n_a) tiles; d >= 1
/// Differences are computed before squares, so that equal points have distance 0 exactly. Sums over
/// axes are in order, fused. Squares of differences must not overflow; coordinates are normalized.
template <class T>
void distances(const Queue& queue, Tile<const T> a, Tile<const T> b, Tile<T> distance);

/// Computes y(c, b) = mean of x(c, s) over the `l` slots s = (first_block + b) l ..
///   y  (n_channel, n_block)
///   l  a power of two; a block may span tiles of x
/// Sums over slots are in order.
template <class T>
void block_means(const Queue& queue, int64_t l, Tiles<const T> x, int64_t first_block, Tile<T> y);
/// Adds dx(c, s) += dy(c, b) / l.
template <class T>
void block_means_backward(const Queue& queue, int64_t l, Tile<const T> dy, int64_t first_block,
                          Tiles<T> dx);

/// Copies the slots of a block side by side: y(t*d + c, b) = x(head*d + c, (first_block + b) l +
/// t).
///   y  (l*d, n_block); d is n_dim
template <class T>
void fold_blocks(const Queue& queue, int64_t l, int64_t n_dim, int64_t head, Tiles<const T> x,
                 int64_t first_block, Tile<T> y);
/// Adds dx(head*d + c, (first_block + b) l + t) += dy(t*d + c, b).
template <class T>
void fold_blocks_backward(const Queue& queue, int64_t l, int64_t n_dim, int64_t head,
                          Tile<const T> dy, int64_t first_block, Tiles<T> dx);

// ---- choice of the blocks that a group of slots attends to

/// The best blocks so far of a tile of at most tile_points groups. The total order is: blocks
/// outside the group's own ball before blocks inside, larger scores first, smaller block numbers
/// first. The result does not depend on the order in which keys are offered.
///   score (H, n_choice, tile_points), block (H, n_choice, tile_points): best first; block -1: none
template <class T>
struct Choice {
    int64_t n_head = 0, n_choice = 0;  ///< n_choice >= 1
    T* score = nullptr;
    int64_t* block = nullptr;

    int64_t size() const { return n_head * n_choice * tile_points; }  ///< elements of each
    int64_t index(int64_t head, int64_t rank, int64_t group) const {
        return (head * n_choice + rank) * tile_points + group;
    }
};

template <class T>
void reset(Choice<T> choice);

/// Blocks of the own ball of each group of a tile: first[i] .. first[i] + count - 1. With count 0 a
/// group has no own blocks.
struct OwnBlocks {
    const int64_t* first = nullptr;  ///< (n_group)
    int64_t count = 0;
};

/// Offers blocks first_block .. first_block + n_key - 1 with scores <q_p, k_b>, in base 2. Each
/// block is offered once.
///   q (H*d, n_group), k (H*d, n_key) tiles, n_group <= tile_points
///   scratch  choose_scratch() elements, of this thread
/// Scores are sums over channels in order, fused: they are bitwise identical on every machine and
/// thread, and both backends choose the same blocks. Returns false if a score is not finite; the
/// choice is then undefined. Throws limit if n_key is 2^30 or more.
template <class T>
bool choose(const Queue& queue, const Heads& heads, Tile<const T> q, Tile<const T> k,
            int64_t first_block, const OwnBlocks& own, T* scratch, Choice<T> choice);

int64_t choose_scratch(const Heads& heads, int64_t n_choice);

/// Writes the chosen blocks of a head and group, ascending, to `blocks`; returns their number.
template <class T>
int64_t sorted_choice(Choice<T> choice, int64_t head, int64_t group, int64_t* blocks);

/// Keys and values of one head in a block of l slots: channel c of slot t is at k[c * row + t].
template <class T>
struct KeyBlock {
    T* k = nullptr;
    T* v = nullptr;
    int64_t row = 0;
};

/// The blocks that the groups of a tile of queries attend to. Query i belongs to group i / g; if a
/// group is larger than the tile, the tile has no other group.
template <class T>
struct ChosenBlocks {
    std::span<const KeyBlock<T>> blocks;  ///< (n_group, H, n_choice), each choice ascending
    int64_t l = 1;                        ///< slots in a block
    int64_t g = 1;                        ///< queries in a group
    int64_t n_choice = 0;                 ///< at least 1

    const KeyBlock<T>* of(const Heads& heads, int64_t group, int64_t head) const {
        return blocks.data() + (group * heads.n_head + head) * n_choice;
    }
};

/// Computes attention of each group of a tile of queries to its own chosen blocks.
///   q, y     (H*d, n_query), (H*e, n_query) tiles; n_query <= tile_points
///   log_sum  (H, n_query) as log_sums() computes it; data null: not computed
///   scratch  attend_blocks_scratch() elements, of this thread
/// Sums use lane_count partial sums, key j of the list in partial sum j % lane_count, joined by
/// halves. Results are bitwise identical on every SIMD instruction set and do not depend on the
/// group's offset in the tile. A NaN in a query or a key reaches the averages of all queries that
/// use it.
template <class T>
void attend_blocks(const Queue& queue, const Heads& heads, Tile<const T> q,
                   const ChosenBlocks<const T>& chosen, T* scratch, Tile<T> y, Tile<T> log_sum);

int64_t attend_blocks_scratch(const Heads& heads, int64_t l, int64_t n_choice);

/// Heads first .. end - 1.
struct HeadRange {
    int64_t first = 0, end = 0;
};

/// Adds gradients for the heads of `range`: dq (H*d, n_query) +=, and the gradients of keys and
/// values += in `gradients`, which has the layout of `chosen`, with its l, g and n_choice. The
/// formulas are those in attend_backward_queries(). A group adds to each of its blocks once, the
/// sum over its queries in ascending order; groups follow in ascending order. Groups may share
/// blocks, so only heads may be given to several threads at once. What a block receives does not
/// depend on the other blocks of the call.
///   dq.data null, or `gradients` empty: not computed
///   scratch  attend_blocks_scratch() elements, of this thread
template <class T>
void attend_blocks_backward(const Queue& queue, const Heads& heads, HeadRange range,
                            const AttendGradient<T>& of, const ChosenBlocks<const T>& chosen,
                            std::span<const KeyBlock<T>> gradients, T* scratch, Tile<T> dq);

// ---- gates

/// Computes y(h*e + c, i) = sum_b sigmoid(gate(h*n_branch + b, i)) branch_b(h*e + c, i), in the
/// order of b.
///   gate (H*n_branch, n), branches and y (H*e, n) tiles, any n, n_branch = 1 .. 4
///   y may be a branch, no other overlap
/// float: relative error of the sigmoid at most 1e-6; below u = -87 it stays at sigmoid(-87) =
/// 1.6e-38. Results are bitwise identical on every SIMD instruction set. double (ref): libm. A NaN
/// in a gate reaches all channels of its head.
template <class T>
void combine(const Queue& queue, int64_t n_head, Tile<const T> gate,
             std::span<const Tile<const T>> branches, Tile<T> y);

/// Computes dbranch_b = sigmoid(gate) dy and dgate(h*n_branch + b) = sum_c dy branch_b * sigmoid' .
///   shapes as in combine(); dbranch_b may be branch_b, dgate may be gate, no other overlap
/// Sums over channels are in order.
template <class T>
void combine_backward(const Queue& queue, int64_t n_head, Tile<const T> gate,
                      std::span<const Tile<const T>> branches, Tile<const T> dy,
                      std::span<const Tile<T>> dbranches, Tile<T> dgate);

namespace ref {
template <class T>
void distances(Tile<const T> a, Tile<const T> b, Tile<T> distance);
template <class T>
bool choose(const Heads& heads, Tile<const T> q, Tile<const T> k, int64_t first_block,
            const OwnBlocks& own, Choice<T> choice);
template <class T>
void attend_blocks(const Heads& heads, Tile<const T> q, const ChosenBlocks<const T>& chosen,
                   T* scratch, Tile<T> y, Tile<T> log_sum);
template <class T>
void attend_blocks_backward(const Heads& heads, HeadRange range, const AttendGradient<T>& of,
                            const ChosenBlocks<const T>& chosen,
                            std::span<const KeyBlock<T>> gradients, T* scratch, Tile<T> dq);
template <class T>
void combine(int64_t n_head, Tile<const T> gate, std::span<const Tile<const T>> branches,
             Tile<T> y);
template <class T>
void combine_backward(int64_t n_head, Tile<const T> gate, std::span<const Tile<const T>> branches,
                      Tile<const T> dy, std::span<const Tile<T>> dbranches, Tile<T> dgate);
}  // namespace ref
namespace simd {
void distances(VectorLevel level, Tile<const float> a, Tile<const float> b, Tile<float> distance);
bool choose(VectorLevel level, const Heads& heads, Tile<const float> q, Tile<const float> k,
            int64_t first_block, const OwnBlocks& own, float* scratch, Choice<float> choice);
void attend_blocks(VectorLevel level, const Heads& heads, Tile<const float> q,
                   const ChosenBlocks<const float>& chosen, float* scratch, Tile<float> y,
                   Tile<float> log_sum);
void attend_blocks_backward(VectorLevel level, const Heads& heads, HeadRange range,
                            const AttendGradient<float>& of,
                            const ChosenBlocks<const float>& chosen,
                            std::span<const KeyBlock<float>> gradients, float* scratch,
                            Tile<float> dq);
void combine(VectorLevel level, int64_t n_head, Tile<const float> gate,
             std::span<const Tile<const float>> branches, Tile<float> y);
void combine_backward(VectorLevel level, int64_t n_head, Tile<const float> gate,
                      std::span<const Tile<const float>> branches, Tile<const float> dy,
                      std::span<const Tile<float>> dbranches, Tile<float> dgate);
}  // namespace simd

}  // namespace surrogate::kernels::bsa
