// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/hept/attend_simd.cpp"
#include <hwy/foreach_target.h>

#include "kernels/hept/block-inl.h"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::hept::HWY_NAMESPACE {
namespace {

/// Adds the weights of n rows of lanes to `total`.
template <int n_vector>
HWY_NOINLINE void weigh_and_add(int64_t n, float* squares, float* total) {
    Vector sum[n_vector];
    for (int j = 0; j < n_vector; ++j) sum[j] = load(total + j * width);
    weigh_rows<n_vector>(n, squares, [&](int64_t, int j, Vector weight) HWY_ATTR {
        sum[j] = hn::Add(sum[j], weight);
    });
    for (int j = 0; j < n_vector; ++j) store(sum[j], total + j * width);
}

/// Results of some queries, from sums in lanes and in rows.
template <int n_vector>
HWY_NOINLINE void write_sums(const BlockOf& of, const Strip<n_vector>& strip, int64_t n,
                             const float* den, float* sums) {
    const int64_t d = of.shape.n_channel;
    alignas(64) float zero_weight[strip.n_lane];
    const auto n_zero = static_cast<float>(of.block.n_zero_key);
    if (of.block.n_zero_key > 0) strip.weigh_zero_key(of, zero_weight);
    for (int64_t i = 0; i < n; ++i, sums += of.shape.n_sum()) {
        copy(strip.rows + i * of.value_row(), d, sums);
        const float padding = of.block.n_zero_key > 0 ? n_zero * zero_weight[i] : 0.0f;
        sums[d] = (den[i] + padding) + static_cast<float>(epsilon);
    }
}

/// Queries first .. first + n - 1, n_lane of them at most.
template <int n_vector>
void attend_strip(const BlockOf& of, int64_t first, NextRows& next, float* scratch, float* sums) {
    const Strip<n_vector> strip(of, first, scratch);
    alignas(64) float den[strip.n_lane] = {};
    const int64_t n = std::min(strip.n_lane, of.n_query() - first);
    std::fill_n(strip.rows, n * of.value_row(), 0.0f);
    for (int64_t j = 0; j < of.n_key(); j += max_keys) {
        const int64_t n_key = std::min(max_keys, of.n_key() - j);
        pair<n_vector, true>(strip.queries, of.shape.n_query(), of.key(j), of.key_row(), n_key,
                             strip.weights, [&] { next.step(); });
        weigh_and_add<n_vector>(n_key, strip.weights, den);
        add_rows<false>({strip.weights, strip.n_lane, 1}, n_key, {of.value(j), of.key_row()}, {}, n,
                        of.shape.n_channel, {strip.rows, of.value_row()});
    }
    write_sums(of, strip, n, den, sums);
}

void attend_block(const RowShape& shape, const Block<float>& block, float* scratch, float* sums) {
    const BlockOf of(shape, block, scratch);
    NextRows next(of, of.n_query() * of.n_key() / 256 + 1);
    for_lanes(of.n_query(), [&](int64_t i, auto n_vector) HWY_ATTR {
        attend_strip<decltype(n_vector)::value>(of, i, next, of.rest, sums + i * shape.n_sum());
    });
}

}  // namespace
}  // namespace surrogate::kernels::hept::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace surrogate::kernels::hept::simd {

void attend_block(VectorLevel level, const RowShape& shape, const Block<float>& block,
                  float* scratch, float* sums) {
    SURROGATE_AT_LEVEL(level, attend_block)(shape, block, scratch, sums);
}

}  // namespace surrogate::kernels::hept::simd
#endif
