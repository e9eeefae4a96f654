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
        for (int64_t i = first; i < first + n; ++i) {
            const float* const at = of(i);
            for (int64_t c = 0; c < row - 1; c += lane_count) __builtin_prefetch(at + c, 1, 2);
            __builtin_prefetch(at + row - 1, 1, 2);
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

/// Writes the results of queries first .. first + n - 1, from sums in lanes and in rows.
template <int n_vector, bool is_added>
HWY_NOINLINE void write_sums(const BlockOf& of, const Strip<n_vector>& strip, int64_t first,
                             int64_t n, const float* den, const SumRows& sums) {
    const int64_t d = of.shape.n_channel;
    alignas(64) float zero_weight[strip.n_lane];
    const auto n_zero = static_cast<float>(of.block.n_zero_key);
    if (of.block.n_zero_key > 0) strip.weigh_zero_key(of, zero_weight);
    for (int64_t i = 0; i < n; ++i) {
        float* const to = sums.of(first + i);
        if constexpr (is_added)
            add_numbers(strip.rows + i * of.value_row(), d, to);
        else
            copy(strip.rows + i * of.value_row(), d, to);
        const float padding = of.block.n_zero_key > 0 ? n_zero * zero_weight[i] : 0.0f;
        const float sum = (den[i] + padding) + static_cast<float>(epsilon);
        to[d] = is_added ? to[d] + sum : sum;
    }
}

/// Processes queries first .. first + n - 1, n_lane of them at most.
template <int n_vector>
void attend_strip(const BlockOf& of, int64_t first, NextRows& next, float* scratch,
                  const SumRows& sums) {
    const Strip<n_vector> strip(of, first, scratch);
    alignas(64) float den[strip.n_lane] = {};
    const int64_t n = std::min(strip.n_lane, of.n_query() - first);
    sums.fetch(first, n);
    std::fill_n(strip.rows, n * of.value_row(), 0.0f);
    for (int64_t j = 0; j < of.n_key(); j += max_keys) {
        const int64_t n_key = std::min(max_keys, of.n_key() - j);
        pair<n_vector, Pair::weight>(strip.queries, of.shape.n_query(), of.key(j), of.key_row(),
                                     n_key, strip.weights, den, [&] { next.step(); });
        add_rows<false>({strip.weights, strip.n_lane, 1}, n_key, {of.value(j), of.key_row()}, {}, n,
                        of.shape.n_channel, {strip.rows, of.value_row()});
    }
    if (sums.is_added)
        write_sums<n_vector, true>(of, strip, first, n, den, sums);
    else
        write_sums<n_vector, false>(of, strip, first, n, den, sums);
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
