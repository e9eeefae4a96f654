// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/hept/attend_simd.cpp"
#include <hwy/foreach_target.h>

#include "kernels/hept/block-inl.h"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::hept::HWY_NAMESPACE {
namespace {

/// Rows to which the sums of queries are written or added.
struct SumRows {
    float* data;
    int64_t row;
    std::span<const int32_t> to;
    bool is_added;

    float* of(int64_t query) const {
        return data + (to.empty() ? query : to[static_cast<size_t>(query)]) * row;
    }
    /// Prefetches the rows that are written at the end of the strip.
    HWY_NOINLINE void fetch(int64_t first, int64_t n) const {
        asm volatile("");  // GCC drops calls of functions that do nothing but prefetch
        for (int64_t i = first; i < first + n; ++i) {
            const float* const at = of(i);
            for (int64_t c = 0; c < row - 1; c += lane_count) __builtin_prefetch(at + c, 0, 2);
            __builtin_prefetch(at + row - 1, 0, 2);
        }
    }
};

/// Adds n numbers to the numbers at `to`. The last vector may overlap the one before it: it is
/// loaded before anything is stored.
HWY_INLINE void add_numbers(const float* from, int64_t n, float* to) {
    if (n < width) {
        for (int64_t c = 0; c < n; ++c) to[c] += from[c];
        return;
    }
    const auto sum = [&](int64_t c) HWY_ATTR { return hn::Add(load(to + c), load(from + c)); };
    const Vector last = sum(n - width);
    for (int64_t c = 0; c + width < n; c += width) store(sum(c), to + c);
    store(last, to + n - width);
}

/// Completes the denominators of a strip: sums of weights, keys of zeros, epsilon.
template <int n_vector>
HWY_NOINLINE void finish_dens(const BlockOf& of, const Strip<n_vector>& strip, float* den) {
    alignas(64) float zero_weight[strip.n_lane];
    const auto n_zero = static_cast<float>(of.block.n_zero_key);
    if (of.block.n_zero_key > 0) strip.weigh_zero_key(of, zero_weight);
    for (int64_t i = 0; i < strip.n_lane; ++i) {
        const float padding = of.block.n_zero_key > 0 ? n_zero * zero_weight[i] : 0.0f;
        den[i] = (den[i] + padding) + static_cast<float>(epsilon);
    }
}

/// Writes the results of queries first .. first + n - 1, the rows at `from`.
template <bool is_added>
HWY_NOINLINE void write_sums(const float* from, int64_t from_row, int64_t first, int64_t n,
                             const SumRows& sums) {
    for (int64_t i = first; i < first + n; ++i, from += from_row) {
        if constexpr (is_added)
            add_numbers(from, sums.row, sums.of(i));
        else
            copy(from, sums.row, sums.of(i));
    }
}

#if HWY_TARGET == HWY_AVX3

/// Transposes lanes (n_dim, n_lane) to rows (n_lane, n_dim), both multiples of the width.
HWY_NOINLINE void transpose_lanes(const float* lanes, int64_t n_dim, int64_t n_lane, float* rows) {
    for (int64_t c = 0; c < n_dim; c += width) {
        for (int64_t l = 0; l < n_lane; l += 4) {
            const float* from[width];
            for (int64_t r = 0; r < width; ++r) from[r] = lanes + (c + r) * n_lane + l;
            transpose_four(from, n_dim, rows + l * n_dim + c);
        }
    }
}

#endif

/// Processes queries first .. first + n - 1, n_lane of them at most. Two vectors of AVX-512 sum num
/// with queries in lanes, too: 24 channels would leave a quarter of the lanes empty.
template <int n_vector>
void attend_strip(const BlockOf& of, int64_t first, NextRows& next, float* scratch,
                  const SumRows& sums) {
    constexpr bool by_lanes = HWY_TARGET == HWY_AVX3 && n_vector == 2;
    const Strip<n_vector> strip(of, first, scratch);
    const int64_t n = std::min(strip.n_lane, of.n_query() - first), d = of.shape.n_channel;
    const int64_t row = round_up(of.shape.n_sum(), lane_count);
    alignas(64) float den[strip.n_lane] = {};
    float* const rows = strip.rows;                                  // (n_lane, row)
    float* const num = by_lanes ? rows + strip.n_lane * row : rows;  // (row, n_lane), or rows
    sums.fetch(first, n);
    std::fill_n(num, (by_lanes ? strip.n_lane : n) * row, 0.0f);
    for (int64_t j = 0; j < of.n_key(); j += max_keys) {
        const int64_t n_key = std::min(max_keys, of.n_key() - j);
        pair<n_vector, Pair::weight>(strip.queries, of.shape.n_query(), of.key(j), of.key_row(),
                                     n_key, strip.weights, den, [&] { next.step(); });
        if constexpr (by_lanes)
            add_rows<false>({of.value(j), of.key_row(), 1}, n_key, {strip.weights, strip.n_lane},
                            {}, d, strip.n_lane, {num, strip.n_lane});
        else
            add_rows<false>({strip.weights, strip.n_lane, 1}, n_key, {of.value(j), of.key_row()},
                            {}, n, d, {rows, row});
    }
    finish_dens(of, strip, den);
#if HWY_TARGET == HWY_AVX3
    if constexpr (by_lanes) {
        std::copy_n(den, strip.n_lane, num + d * strip.n_lane);
        transpose_lanes(num, row, strip.n_lane, rows);
    }
#endif
    if constexpr (!by_lanes) {
        for (int64_t i = 0; i < n; ++i) rows[i * row + d] = den[i];
    }
    if (sums.is_added)
        write_sums<true>(rows, row, first, n, sums);
    else
        write_sums<false>(rows, row, first, n, sums);
}

void attend_block(const RowShape& shape, const Block<float>& block, float* scratch, float* sums,
                  std::span<const int32_t> to, bool is_added) {
    const BlockOf of(shape, block, scratch);
    const SumRows rows{sums, shape.n_sum(), to, is_added};
    NextRows next(of, of.n_query() * of.n_key() / 256 + 1);
    for_lanes(of.n_query(), [&](int64_t i, auto n_vector) HWY_ATTR {
        attend_strip<decltype(n_vector)::value>(of, i, next, of.rest, rows);
    });
}

}  // namespace
}  // namespace surrogate::kernels::hept::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace surrogate::kernels::hept::simd {

void attend_block(VectorLevel level, const RowShape& shape, const Block<float>& block,
                  float* scratch, float* sums, std::span<const int32_t> to, bool is_added) {
    SURROGATE_AT_LEVEL(level, attend_block)(shape, block, scratch, sums, to, is_added);
}

}  // namespace surrogate::kernels::hept::simd
#endif
