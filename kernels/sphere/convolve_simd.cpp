// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/sphere/convolve_simd.cpp"
#include <hwy/foreach_target.h>

#include <algorithm>
#include <type_traits>

#include "kernels/base/vector-inl.h"
#include "kernels/sphere/convolve.hpp"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::sphere::HWY_NAMESPACE {
namespace {

using namespace kernels::HWY_NAMESPACE;

/// Sums of this many terms are added up in turn: the error of a polar row of thousands of terms is
/// then the error of its blocks.
constexpr int64_t block_terms = 64;

/// Assignment of channels to lists: row r of a block reads, for each basis function k in [first_k,
/// end_k), channel `channel + r * per_row + k * per_k`.
struct Lists {
    const ConvolutionTable<float>& table;
    Rings<const float> x;
    int64_t row, phase;
    int64_t first_k, end_k;
    int64_t channel, per_row, per_k;
};

/// Computes n_row sums of all terms of some lists for n_vector vectors of columns. A weight is
/// broadcast and multiplies n_row * n_vector loaded vectors; there is no other data movement. 12
/// sums fill the registers of AVX2, where each multiply-add needs one more register for its load.
template <int n_row, int n_vector>
HWY_INLINE void filter_block(const Lists& lists, int64_t column, Vector (&sum)[n_row][n_vector]) {
    const RingLayout& layout = *lists.x.layout;
    Vector total[n_row][n_vector];
    const auto each = [](const auto& action) HWY_ATTR {
#pragma GCC unroll 8
        for (int r = 0; r < n_row; ++r)
#pragma GCC unroll 8
            for (int v = 0; v < n_vector; ++v) action(r, v);
    };
    each([&](int r, int v) HWY_ATTR { sum[r][v] = total[r][v] = broadcast(0); });
    int64_t n_free = block_terms;
    const Stencil& stencil = *lists.table.stencil;
    const float* value =
        lists.table.values + stencil.value_of(lists.row, lists.phase, lists.first_k);
    for (int64_t k = lists.first_k; k < lists.end_k; ++k) {
        const int64_t channel = lists.channel + k * lists.per_k;
        for (const Strip& strip : stencil.list(lists.row, lists.phase, k)) {
            const int64_t step = layout.step(strip.row) * lists.per_row;
            const float* x = lists.x.at(strip.row, channel) + column + strip.first;
            for (int64_t rest = strip.count; rest > 0;) {
                const int64_t n = std::min(rest, n_free);
                for (const float* end = value + n; value < end; ++value, ++x) {
                    const Vector w = broadcast(*value);
                    each([&](int r, int v) HWY_ATTR {
                        sum[r][v] = mul_add(w, load(x + r * step + v * width), sum[r][v]);
                    });
                }
                rest -= n;
                n_free -= n;
                if (n_free > 0) continue;
                each([&](int r, int v) HWY_ATTR {
                    total[r][v] = hn::Add(total[r][v], sum[r][v]);
                    sum[r][v] = broadcast(0);
                });
                n_free = block_terms;
            }
        }
    }
    each([&](int r, int v) HWY_ATTR { sum[r][v] = hn::Add(total[r][v], sum[r][v]); });
}

/// Computes n_row rows of y at n_vector vectors of columns.
template <int n_row, int n_vector>
HWY_INLINE void write_block(const Lists& lists, int64_t column, bool accumulate, float* y,
                            int64_t step) {
    Vector sum[n_row][n_vector];
    filter_block<n_row, n_vector>(lists, column, sum);
#pragma GCC unroll 8
    for (int r = 0; r < n_row; ++r) {
#pragma GCC unroll 8
        for (int v = 0; v < n_vector; ++v) {
            float* out = y + r * step + v * width;
            store(accumulate ? hn::Add(load(out), sum[r][v]) : sum[r][v], out);
        }
    }
}

/// Computes n_row rows of y, with stride `step`, n_point columns: as many vectors at once as
/// possible.
template <int n_row>
void filter_rows(const Lists& lists, int64_t first_column, int64_t n_point, bool accumulate,
                 float* y, int64_t step) {
    const int64_t n_lane = round_up(n_point, lane_count);
    int64_t i = 0;
    for (; i + 4 * width <= n_lane; i += 4 * width)
        write_block<n_row, 4>(lists, first_column + i, accumulate, y + i, step);
    for (; i + 2 * width <= n_lane; i += 2 * width)
        write_block<n_row, 2>(lists, first_column + i, accumulate, y + i, step);
    for (; i < n_lane; i += width)
        write_block<n_row, 1>(lists, first_column + i, accumulate, y + i, step);
}

/// Calls filter(number of rows as a type, first row) for blocks that cover n rows.
template <class Filter>
HWY_INLINE void in_blocks(int64_t n, const Filter& filter) {
    int64_t row = 0;
    for (; row + 3 <= n; row += 3) filter(std::integral_constant<int, 3>(), row);
    if (row + 2 <= n) filter(std::integral_constant<int, 2>(), row), row += 2;
    if (row < n) filter(std::integral_constant<int, 1>(), row);
}

void apply_basis(const ConvolutionTable<float>& table, int64_t row, int64_t phase,
                 int64_t first_column, Rings<const float> x, Tile<float> z) {
    const int64_t n_basis = table.stencil->n_basis;
    // All functions of a few channels in turn: their rings stay in L1.
    in_blocks(z.shape[0] / n_basis, [&](auto n_row, int64_t c) HWY_ATTR {
        for (int64_t k = 0; k < n_basis; ++k) {
            filter_rows<decltype(n_row)::value>(
                {table, x, row, phase, k, k + 1, c, 1, 0}, first_column, z.shape[1], false,
                z.data + (c * n_basis + k) * z.stride[0], n_basis * z.stride[0]);
        }
    });
}

void sum_basis(const ConvolutionTable<float>& table, int64_t row, int64_t phase,
               int64_t first_column, Rings<const float> t, bool accumulate, Tile<float> y) {
    const int64_t n_basis = table.stencil->n_basis;
    in_blocks(y.shape[0], [&](auto n_row, int64_t o) HWY_ATTR {
        filter_rows<decltype(n_row)::value>(
            {table, t, row, phase, 0, n_basis, o * n_basis, n_basis, 1}, first_column, y.shape[1],
            accumulate, y.data + o * y.stride[0], y.stride[0]);
    });
}

}  // namespace
}  // namespace surrogate::kernels::sphere::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace surrogate::kernels::sphere::simd {

void apply_basis(VectorLevel level, const ConvolutionTable<float>& table, int64_t row,
                 int64_t phase, int64_t first_column, Rings<const float> x, Tile<float> z) {
    SURROGATE_AT_LEVEL(level, apply_basis)(table, row, phase, first_column, x, z);
}

void sum_basis(VectorLevel level, const ConvolutionTable<float>& table, int64_t row, int64_t phase,
               int64_t first_column, Rings<const float> t, bool accumulate, Tile<float> y) {
    SURROGATE_AT_LEVEL(level, sum_basis)(table, row, phase, first_column, t, accumulate, y);
}

}  // namespace surrogate::kernels::sphere::simd
#endif
