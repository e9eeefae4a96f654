// SPDX-License-Identifier: Apache-2.0
// A block of queries and keys in memory of its own, shared by the forward and the backward pass.
// This file is compiled once per SIMD instruction set.
#if defined(SURROGATE_HEPT_BLOCK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SURROGATE_HEPT_BLOCK_INL_H_
#undef SURROGATE_HEPT_BLOCK_INL_H_
#else
#define SURROGATE_HEPT_BLOCK_INL_H_
#endif

#include <hwy/cache_control.h>

#include "kernels/hept/hept.hpp"
#include "kernels/hept/lanes-inl.h"
#include "kernels/hept/scratch.hpp"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::hept::HWY_NAMESPACE {

/// The keys of a block, one after the other, as [ s x | k | zeros ][ v | zeros ], each part a
/// multiple of lane_count long; a key of zeros follows them.
struct BlockOf : BlockRows {
    BlockOf(const RowShape& shape_, const Block<float>& block_, float* scratch)
        : BlockRows{shape_}, block(block_), keys(scratch) {
        float* const end = scratch + n_key() * key_row();
        copy_keys(scratch);
        std::fill_n(end, key_row(), 0.0f);
        zero_key = end;
        rest = end + key_row();
    }

    int64_t n_query() const { return static_cast<int64_t>(block.queries.size()); }
    int64_t n_key() const { return static_cast<int64_t>(block.keys.size()); }
    const float* row_of(int32_t token) const { return block.rows + token * shape.stride(); }
    const float* key(int64_t j) const { return keys + j * key_row(); }
    const float* value(int64_t j) const { return key(j) + query_row(); }

    const Block<float>& block;
    const float *keys, *zero_key;
    float* rest;  ///< rest of the scratch

private:
    HWY_NOINLINE void copy_keys(float* to) const {
        const int64_t n_query_dim = shape.n_query(), row = key_row(), value = query_row();
        for (const int32_t j : block.keys) {
            const float* from = row_of(j) + shape.n_channel;
            copy_padded(from, n_query_dim, to);
            copy_padded(from + n_query_dim, shape.n_channel, to + value);
            to += row;
        }
    }
};

/// Prefetches rows of the next block into the second-level cache, a part of them in each step.
class NextRows {
public:
    NextRows(const BlockOf& of, int64_t n_step)
        : of_(of),
          n_row_(static_cast<int64_t>(
              std::max(of.block.next_queries.size(), of.block.next_keys.size()))),
          share_((n_row_ + n_step - 1) / n_step) {}

    HWY_NOINLINE void step() {
        for (const int64_t end = std::min(at_ + share_, n_row_); at_ < end; ++at_) {
            const auto [d, n_coordinate] = of_.shape;
            const auto i = static_cast<size_t>(at_);
            if (i < of_.block.next_queries.size())
                fetch(of_.row_of(of_.block.next_queries[i]), d + n_coordinate);
            if (i < of_.block.next_keys.size())
                fetch(of_.row_of(of_.block.next_keys[i]) + d, 2 * d + n_coordinate);
        }
    }

private:
    static void fetch(const float* from, int64_t n) {
        for (int64_t c = 0; c < n - 1; c += lane_count) __builtin_prefetch(from + c, 0, 2);
        __builtin_prefetch(from + n - 1, 0, 2);
    }

    const BlockOf& of_;
    int64_t n_row_, share_, at_ = 0;
};

/// Some queries of a block in lanes. Lanes without a query repeat the last one.
template <int n_vector>
struct Strip {
    static constexpr int64_t n_lane = n_vector * width;

    Strip(const BlockOf& of, int64_t first, float* scratch) : queries(scratch) {
        const auto [d, n_coordinate] = of.shape;
        const float* from[n_lane];
        for (int64_t l = 0; l < n_lane; ++l)
            from[l] = of.row_of(of.block.queries[std::min(first + l, of.n_query() - 1)]);
        transpose<n_vector>(from, d, n_coordinate, queries);
        transpose<n_vector>(from, 0, d, queries + n_coordinate * n_lane);
        weights = queries + of.shape.n_query() * n_lane;
        rows = weights + max_keys * n_lane;
    }

    /// Writes exp(-|Q|^2 / 2) of every lane.
    void weigh_zero_key(const BlockOf& of, float* to) const {
        alignas(64) float total[n_lane] = {};
        pair_block<1, n_vector, Pair::weight>(queries, of.shape.n_query(), of.zero_key, 0, to,
                                              total);
    }

    float* queries;  ///< (E, n_lane): s x, q
    float* weights;  ///< (max_keys, n_lane)
    float* rows;     ///< (n_lane, ..)
};

}  // namespace surrogate::kernels::hept::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
