// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/hept/combine_simd.cpp"
#include <hwy/foreach_target.h>

#include "kernels/hept/hept.hpp"
#include "kernels/hept/lanes-inl.h"
#include "kernels/hept/scratch.hpp"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::hept::HWY_NAMESPACE {
namespace {

/// Sums of `width` consecutive points.
struct PointSums {
    const float* data;
    int64_t row, table_stride, n_table;

    /// Adds channels first .. first + n - 1 of all tables to lanes(c, l).
    HWY_INLINE void add(int64_t first, int64_t n, float* lanes) const {
        alignas(64) float more[lane_count * width];
        for (int64_t t = 0; t < n_table; ++t) {
            const float* from[width];
            for (int64_t l = 0; l < width; ++l) from[l] = data + t * table_stride + l * row;
            transpose<1>(from, first, n, t == 0 ? lanes : more);
            if (t == 0) continue;
            for (int64_t c = 0; c < n * width; c += width)
                store(hn::Add(load(lanes + c), load(more + c)), lanes + c);
        }
    }
};

/// Writes the results of `width` points from point i on.
HWY_INLINE void combine_points(const RowShape& shape, const PointSums& sums, int64_t i,
                               Tile<float> y) {
    const int64_t d = shape.n_channel;
    alignas(64) float lanes[lane_count * width];  // (lane_count, width)
    alignas(64) float factor[width];
    for (int64_t l = 0; l < width; ++l)
        factor[l] = inverse_den(sums.data + l * sums.row, d, sums.table_stride, sums.n_table);
    for (int64_t first = 0; first < d; first += lane_count) {
        const int64_t n = std::min(lane_count, d - first);
        sums.add(first, n, lanes);
        for (int64_t c = 0; c < n; ++c)
            store(hn::Mul(load(lanes + c * width), load(factor)),
                  y.data + (first + c) * y.stride[0] + i);
    }
}

/// Combines whole groups of `width` points; returns the number of points that it processed.
int64_t combine_tables(const RowShape& shape, const float* sums, int64_t table_stride,
                       int64_t n_table, Tile<float> y) {
    int64_t i = 0;
    for (; i + width <= y.shape[1]; i += width)
        combine_points(shape, {sums + i * shape.n_sum(), shape.n_sum(), table_stride, n_table}, i,
                       y);
    return i;
}

}  // namespace
}  // namespace surrogate::kernels::hept::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace surrogate::kernels::hept::simd {

void combine_tables(VectorLevel level, const RowShape& shape, const float* sums,
                    int64_t table_stride, int64_t n_table, Tile<float> y) {
    const int64_t n =
        SURROGATE_AT_LEVEL(level, combine_tables)(shape, sums, table_stride, n_table, y);
    y.data += n;
    y.shape[1] -= n;
    ref::combine_tables(shape, sums + n * shape.n_sum(), table_stride, n_table, y);
}

}  // namespace surrogate::kernels::hept::simd
#endif
