// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <span>

#include "kernels/base/queue.hpp"
#include "kernels/base/view.hpp"
#include "kernels/linear/linear.hpp"

/// Kernels of the Locality-Sensitive Hashing-Based Efficient Point Transformer besides shared
/// layers: queries and keys that contain coordinates, their hashes, the order of the tokens of a
/// cell, attention in blocks of tokens with similar hashes. Source: arXiv:2402.12535; the
/// specification of the family, sections 1.2 to 1.6 and 5.
///
/// The order of tokens differs between tables and between layers. The data of a token in a head is
/// therefore stored as one contiguous row:
///
///   row = [ q (d) | s x (D) | k (d) | v (d) | zeros up to the stride ]
///
/// The augmented query is row[0 .. d + D), the augmented key row[d .. 2d + D): both share their
/// coordinates x (D), each multiplied by its own s.
namespace surrogate::kernels::hept {

/// Sizes of the row of a token.
struct RowShape {
    int64_t n_channel = 0;     ///< d
    int64_t n_coordinate = 0;  ///< D

    int64_t n_query() const { return n_channel + n_coordinate; }  ///< E
    int64_t n_used() const { return 3 * n_channel + n_coordinate; }
    int64_t stride() const { return round_up(n_used(), lane_count); }
    /// Returns the size of the sums of a token: num (d), then den.
    int64_t n_sum() const { return n_channel + 1; }
};

/// Returns a float as an integer with the same order; -0 counts as +0.
inline uint32_t ordered_bits(float value) {
    const auto bits = std::bit_cast<uint32_t>(value + 0.0F);
    return bits & 0x80000000U ? ~bits : bits | 0x80000000U;
}

/// Parameters of a head that makes rows. The caller owns the memory.
template <class T>
struct Head {
    RowShape shape;
    Linear<T> qkv;                 ///< n_in -> 3 d: the rows of W_q, W_k, W_v of this head; no bias
    const T* scale = nullptr;      ///< s (D)
    const float* alpha = nullptr;  ///< (n_table, E)
    int64_t n_table = 0;           ///< C, at least 1
};

/// Target of the hashes of tokens, as ordered_bits(): for token i in table c, the hash of the query
/// is written to data[c * stride + i], the hash of the key to data[(n_table + c) * stride + i].
struct Hashes {
    uint32_t* data = nullptr;
    int64_t stride = 0;
};

/// Bound of |Q|^2 and |K|^2: below it, |Q - K|^2 is finite in float.
constexpr double largest_square = 0x1p126;

/// Computes rows and hashes of the points of a tile.
///   u (n_in, n_point), x (D, n_point) tiles, n_point <= tile_points; rows (n_point, stride)
///   scratch  augment_scratch() elements, of this thread
/// A hash is sum_e Q(e) alpha(e): a chain of fused multiply-adds in double over e = 0 .. E - 1,
/// rounded once to float. It is bitwise identical on every SIMD instruction set and in every column
/// of a tile. Returns false unless the squares of all augmented queries and keys are below
/// largest_square; rows and hashes are then invalid.
template <class T>
bool augment(const Queue& queue, const Head<T>& head, Tile<const T> u, Tile<const T> x, T* scratch,
             T* rows, const Hashes& hashes);

template <class T>
int64_t augment_scratch(const Head<T>& head);

/// Runs the backward pass from the gradients of rows, drows (n_point, stride), in the layout of
/// rows. The gradient of s x in it is the sum over query and key:
///   du (n_in, n_point) +=, dx (D, n_point) += s drow, dscale (D) += sum_i x drow, and the
///   gradients
///   of the projections (3 d, n_in) += as linear_gradient() does; dx.data null: not computed
///   scratch  augment_scratch() elements, of this thread
template <class T>
void augment_backward(const Queue& queue, const Head<T>& head, Tile<const T> u, Tile<const T> x,
                      const T* drows, T* scratch, Tile<T> du, Tile<T> dx, const LinearGradient& qkv,
                      double* dscale);

/// Sorts `members` by (hash, index in `members`) and writes the tokens at indices first .. end - 1
/// of the result to `order` (end - first).
///   members (n), below 2^31 each; hash[token] is the hash of a token; scratch (2 n) of this thread
void order_cell(std::span<const int32_t> members, const uint32_t* hash, int64_t first, int64_t end,
                std::span<uint64_t> scratch, int32_t* order);

/// A block: the rows of its queries and of its keys, and additional keys of zeros (padding).
template <class T>
struct Block {
    const T* rows = nullptr;           ///< (n_token, stride)
    std::span<const int32_t> queries;  ///< tokens
    std::span<const int32_t> keys;     ///< tokens, at most block_limit
    int64_t n_zero_key = 0;
    /// Tokens of the next block, if it has the same rows: their rows are prefetched. Results do not
    /// depend on them.
    std::span<const int32_t> next_queries = {}, next_keys = {};
};

constexpr int64_t block_limit = 1024;
/// Added to den, so that it is never zero.
constexpr double epsilon = 1e-20;

/// Computes the sums of each query i over all keys j of the block, with a_ij = exp(-|Q_i - K_j|^2 /
/// 2):
///   sums(i) = [ sum_j a_ij v_j | sum_j a_ij + n_zero_key exp(-|Q_i|^2 / 2) + epsilon ]
///   sums (.., d + 1): of query i to row to[i], or to row i if `to` is empty; is_added: they are
///   added to the contents of the row
///   scratch  attend_block_scratch() elements, of this thread
/// Differences are computed before squares, for coordinates and channels alike: |Q|^2 may reach 4e6
/// while |Q - K| is small. Sums run over coordinates first and then over channels, and over keys in
/// their order, fused. They are bitwise identical on every SIMD instruction set, and do not depend
/// on the other queries. float: weights below 2^-126 are zero; relative error of a weight w at most
/// 2^-24 (4 + (E + 6) |log w|).
template <class T>
void attend_block(const Queue& queue, const RowShape& shape, const Block<T>& block, T* scratch,
                  T* sums, std::span<const int32_t> to = {}, bool is_added = false);

int64_t attend_block_scratch(const RowShape& shape);

/// Computes y(c, i) = sum_t num_t(c) / sum_t den_t over the tables t = 0, 1, .. in this order.
///   sums  of table t and point i at sums + t * table_stride + i * n_sum(); y (d, n_point) tile,
///   any
///   n_point
template <class T>
void combine_tables(const Queue& queue, const RowShape& shape, const T* sums, int64_t table_stride,
                    int64_t n_table, Tile<T> y);

/// Computes given(i) = [ dy / den | <dy, y> / den ], (n_point, d + 1), with den of all tables as
/// above and y its result. attend_block_backward() reads it for each query.
template <class T>
void combine_tables_backward(const Queue& queue, const RowShape& shape, const T* sums,
                             int64_t table_stride, int64_t n_table, Tile<const T> y,
                             Tile<const T> dy, T* given);

/// Computes gradients of a block. With G_i | D_i = given(i) in the order of `queries`, z_ij = a_ij
/// (<G_i, v_j> - D_i):
///   dqueries(i) = [ sum_j z_ij (K_j - Q_i) + n_zero_key exp(-|Q_i|^2 / 2) D_i Q_i ]
///   dkeys(j)    = [ sum_i z_ij (Q_i - K_j), coordinates first | sum_i a_ij G_i ]
///   given (n_query, d + 1); dqueries (n_query, E) as [ q | s x ]; dkeys (n_key, E + d) as
///   [ s x | k | v ], in the order of `keys`; both are overwritten
///   scratch  attend_block_scratch() elements, of this thread
/// Sums run in the order of keys and of queries and are bitwise identical on every SIMD instruction
/// set.
template <class T>
void attend_block_backward(const Queue& queue, const RowShape& shape, const Block<T>& block,
                           const T* given, T* scratch, T* dqueries, T* dkeys);

namespace ref {
template <class T>
bool augment(const Head<T>& head, Tile<const T> u, Tile<const T> x, T* rows, const Hashes& hashes);
template <class T>
void attend_block(const RowShape& shape, const Block<T>& block, T* sums,
                  std::span<const int32_t> to, bool is_added);
template <class T>
void combine_tables(const RowShape& shape, const T* sums, int64_t table_stride, int64_t n_table,
                    Tile<T> y);
template <class T>
void attend_block_backward(const RowShape& shape, const Block<T>& block, const T* given,
                           T* dqueries, T* dkeys);
}  // namespace ref
namespace simd {
bool augment(VectorLevel level, const Head<float>& head, Tile<const float> u, Tile<const float> x,
             float* scratch, float* rows, const Hashes& hashes);
void attend_block(VectorLevel level, const RowShape& shape, const Block<float>& block,
                  float* scratch, float* sums, std::span<const int32_t> to, bool is_added);
void combine_tables(VectorLevel level, const RowShape& shape, const float* sums,
                    int64_t table_stride, int64_t n_table, Tile<float> y);
void attend_block_backward(VectorLevel level, const RowShape& shape, const Block<float>& block,
                           const float* given, float* scratch, float* dqueries, float* dkeys);
}  // namespace simd

}  // namespace surrogate::kernels::hept
