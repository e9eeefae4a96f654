// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <span>

#include "kernels/base/queue.hpp"
#include "kernels/base/view.hpp"
#include "kernels/linear/linear.hpp"

/// Kernels of the Locality-Sensitive Hashing-Based Efficient Point Transformer beyond shared
/// layers: queries and keys with coordinates in them, their hashes, the order of the tokens of a
/// cell, attention in blocks of tokens that hash alike. Source: arXiv:2402.12535; the specification
/// of the family, sections 1.2 to 1.6 and 5.
///
/// Tokens are visited in an order that changes from table to table and from layer to layer. So what
/// a head knows of a token lies in a row, one after the other:
///
///   row = [ q (d) | s x (D) | k (d) | v (d) | zeros up to the stride ]
///
/// The augmented query is row[0 .. d + D), the augmented key row[d .. 2d + D): both share their
/// coordinates x (D), each times its own s.
namespace surrogate::kernels::hept {

/// The numbers in the row of a token.
struct RowShape {
    int64_t n_channel = 0;     ///< d
    int64_t n_coordinate = 0;  ///< D

    int64_t n_query() const { return n_channel + n_coordinate; }  ///< E
    int64_t n_used() const { return 3 * n_channel + n_coordinate; }
    int64_t stride() const { return round_up(n_used(), lane_count); }
    /// Number of sums of a token: num (d), then den.
    int64_t n_sum() const { return n_channel + 1; }
};

/// A float as an integer that is ordered as it is; -0 counts as +0.
inline uint32_t ordered_bits(float value) {
    const auto bits = std::bit_cast<uint32_t>(value + 0.0F);
    return bits & 0x80000000U ? ~bits : bits | 0x80000000U;
}

/// Inputs from which a head makes rows. Memory belongs to the caller.
template <class T>
struct Head {
    RowShape shape;
    Linear<T> qkv;                 ///< n_in -> 3 d: the rows of W_q, W_k, W_v of this head; no bias
    const T* scale = nullptr;      ///< s (D)
    const float* alpha = nullptr;  ///< (n_table, E)
    int64_t n_table = 0;           ///< C, at least 1
};

/// Destination of the hashes of tokens, as ordered_bits(): of token i in table c that of the query
/// to data[c * stride + i], that of the key to data[(n_table + c) * stride + i].
struct Hashes {
    uint32_t* data = nullptr;
    int64_t stride = 0;
};

/// Bound of |Q|^2 and |K|^2: then |Q - K|^2 is finite in float.
constexpr double largest_square = 0x1p126;

/// Rows and hashes of the points of a tile.
///   u (n_in, n_point), x (D, n_point) tiles, n_point <= tile_points; rows (n_point, stride)
///   scratch  augment_scratch() elements, of this thread
/// A hash is sum_e Q(e) alpha(e): a chain of fused multiply-adds in double over e = 0 .. E - 1,
/// rounded once to float. The same bits on every vector level, wherever the point lies in a tile.
/// Returns false unless the squares of all augmented queries and keys are below largest_square;
/// rows and hashes are then not to be used.
template <class T>
bool augment(const Queue& queue, const Head<T>& head, Tile<const T> u, Tile<const T> x, T* scratch,
             T* rows, const Hashes& hashes);

template <class T>
int64_t augment_scratch(const Head<T>& head);

/// From the gradients of rows, drows (n_point, stride) laid out as rows, in which that of s x is
/// the sum over query and key:
///   du (n_in, n_point) +=, dx (D, n_point) += s drow, dscale (D) += sum_i x drow, and the
///   gradients of the projections (3 d, n_in) += as linear_gradient() does; dx.data null: not
///   wanted
///   scratch  augment_scratch() elements, of this thread
template <class T>
void augment_backward(const Queue& queue, const Head<T>& head, Tile<const T> u, Tile<const T> x,
                      const T* drows, T* scratch, Tile<T> du, Tile<T> dx, const LinearGradient& qkv,
                      double* dscale);

/// The tokens that come at places first .. end - 1 when `members` are sorted by (hash, place in
/// `members`), to `order` (end - first).
///   members (n), below 2^31 each; hash: of a token, hash[token]; scratch (2 n) of this thread
void order_cell(std::span<const int32_t> members, const uint32_t* hash, int64_t first, int64_t end,
                std::span<uint64_t> scratch, int32_t* order);

/// A block: the rows of its queries and of its keys, and keys of zeros beyond them (padding).
template <class T>
struct Block {
    const T* rows = nullptr;           ///< (n_token, stride)
    std::span<const int32_t> queries;  ///< tokens
    std::span<const int32_t> keys;     ///< tokens, at most block_limit
    int64_t n_zero_key = 0;
    /// Tokens of the next block, if it has the same rows: they are fetched into the cache
    /// meanwhile. Results do not depend on them.
    std::span<const int32_t> next_queries = {}, next_keys = {};
};

constexpr int64_t block_limit = 1024;
/// Added to den, so that it is never zero.
constexpr double epsilon = 1e-20;

/// For query i and all keys j of the block, with a_ij = exp(-|Q_i - K_j|^2 / 2):
///   sums(i) = [ sum_j a_ij v_j | sum_j a_ij + n_zero_key exp(-|Q_i|^2 / 2) + epsilon ]
///   sums (.., d + 1): of query i to row to[i], or to row i where `to` is empty; is_added: they are
///   added to what lies there
///   scratch  attend_block_scratch() elements, of this thread
/// Differences are formed first and then squared, coordinates and channels alike: |Q|^2 may reach
/// 4e6 and |Q - K| still be small. Sums run over coordinates first and then over channels, and over
/// keys in their order, fused: the same bits on every vector level, and for a query whatever the
/// others are. float: weights below 2^-126 are zero; relative error of a weight w at most
/// 2^-24 (4 + (E + 6) |log w|).
template <class T>
void attend_block(const Queue& queue, const RowShape& shape, const Block<T>& block, T* scratch,
                  T* sums, std::span<const int32_t> to = {}, bool is_added = false);

int64_t attend_block_scratch(const RowShape& shape);

/// y(c, i) = sum_t num_t(c) / sum_t den_t over the tables t = 0, 1, .. in this order.
///   sums  of table t and point i at sums + t * table_stride + i * n_sum(); y (d, n_point) tile,
///         any
///   n_point
template <class T>
void combine_tables(const Queue& queue, const RowShape& shape, const T* sums, int64_t table_stride,
                    int64_t n_table, Tile<T> y);

/// With den of all tables as above and y its result: given(i) = [ dy / den | <dy, y> / den ],
/// (n_point, d + 1), what attend_block_backward() needs of a query.
template <class T>
void combine_tables_backward(const Queue& queue, const RowShape& shape, const T* sums,
                             int64_t table_stride, int64_t n_table, Tile<const T> y,
                             Tile<const T> dy, T* given);

/// With G_i | D_i = given(i) in the order of `queries`, z_ij = a_ij (<G_i, v_j> - D_i):
///   dqueries(i) = [ sum_j z_ij (K_j - Q_i) + n_zero_key exp(-|Q_i|^2 / 2) D_i Q_i ]
///   dkeys(j)    = [ sum_i z_ij (Q_i - K_j), coordinates first | sum_i a_ij G_i ]
///   given (n_query, d + 1); dqueries (n_query, E) as [ q | s x ]; dkeys (n_key, E + d) as
///   [ s x | k | v ], in the order of `keys`; they are written, not added to
///   scratch  attend_block_scratch() elements, of this thread
/// Sums run in the order of keys and of queries: the same bits on every vector level.
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
