// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/sphere/resample_simd.cpp"
#include <hwy/foreach_target.h>

#include "kernels/base/vector-inl.h"
#include "kernels/sphere/resample.hpp"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::sphere::HWY_NAMESPACE {
namespace {

using namespace kernels::HWY_NAMESPACE;

using Indices = hn::RebindToSigned<Tag>;

/// Returns a + t (b - a) for t < 0.5, else b - (b - a) (1 - t): exact at both ends.
HWY_INLINE Vector lerp(Vector a, Vector b, Vector t) {
    const Vector difference = hn::Sub(b, a);
    const auto is_near_a = hn::Lt(t, broadcast(0.5f));
    const Vector factor = hn::IfThenElse(is_near_a, t, hn::Sub(t, broadcast(1)));
    return mul_add(difference, factor, hn::IfThenElse(is_near_a, a, b));
}

/// Interpolates one channel of a row between two others. The tiles' padding is a multiple of every
/// width.
void between_rows(const Resampling& table, int64_t row, const float* upper, const float* lower,
                  float* y) {
    const auto h = static_cast<size_t>(row);
    const int64_t n = round_up(table.in.n_lon, lane_count);
    if (table.interpolation == Interpolation::bilinear) {
        const Vector t = broadcast(static_cast<float>(table.lat_t[h]));
        for (int64_t j = 0; j < n; j += width)
            store(lerp(load(upper + j), load(lower + j), t), y + j);
        return;
    }
    const PairWeights weights = spherical_weights(table.lat_t[h], table.lat_w[h]);
    const Vector a = broadcast(static_cast<float>(weights.a)),
                 b = broadcast(static_cast<float>(weights.b));
    for (int64_t j = 0; j < n; j += width)
        store(mul_add(load(lower + j), b, hn::Mul(load(upper + j), a)), y + j);
}

HWY_INLINE void write(Vector value, bool accumulate, float* y) {
    store(accumulate ? hn::Add(load(y), value) : value, y);
}

/// Interpolates between columns of one channel, from output column `first`.
template <bool is_spherical>
void between_columns(const Resampling& table, int64_t first, const float* x, bool accumulate,
                     float* y) {
    const Indices indices;
    const int64_t n = round_up(table.out.n_lon, lane_count);
    const auto n_in = hn::Set(indices, static_cast<int32_t>(table.in.n_lon));
    for (int64_t j = first; j < n; j += width) {
        const auto left = hn::LoadU(indices, table.left.data() + j);
        auto right = hn::Add(left, hn::Set(indices, 1));
        right = hn::IfThenZeroElse(hn::Eq(right, n_in), right);
        const Vector a = hn::GatherIndex(Tag(), x, left), b = hn::GatherIndex(Tag(), x, right);
        if constexpr (is_spherical) {
            const Vector of_a = load(table.lon_a_single.data() + j),
                         of_b = load(table.lon_b_single.data() + j);
            write(mul_add(b, of_b, hn::Mul(a, of_a)), accumulate, y + j);
        } else {
            write(lerp(a, b, load(table.lon_t_single.data() + j)), accumulate, y + j);
        }
    }
}

/// Handles twice as many columns: neighbors are loaded, not gathered. The operations are those in
/// between_columns(); returns the first column that is left to it.
int64_t double_columns(const Resampling& table, const float* x, bool accumulate, float* y) {
    const Vector zero = broadcast(0), half = broadcast(0.5f);
    int64_t i = 0;
    for (; i + width < table.in.n_lon; i += width) {
        const Vector a = load(x + i), b = load(x + i + 1);
        Vector even = lerp(a, b, zero), odd = lerp(a, b, half);
        float* out = y + 2 * i;
        if (accumulate) {
            Vector old_even, old_odd;
            hn::LoadInterleaved2(Tag(), out, old_even, old_odd);
            even = hn::Add(old_even, even);
            odd = hn::Add(old_odd, odd);
        }
        hn::StoreInterleaved2(even, odd, Tag(), out);
    }
    return 2 * i;
}

void resample_row(const Resampling& table, int64_t row, Tile<const float> upper,
                  Tile<const float> lower, Tile<float> scratch, bool accumulate, Tile<float> y) {
    const bool is_spherical = table.interpolation == Interpolation::bilinear_spherical;
    const bool is_double = !is_spherical && table.out.n_lon == 2 * table.in.n_lon;
    for (int64_t c = 0; c < y.shape[0]; ++c) {
        float* middle = scratch.data + c * scratch.stride[0];
        float* out = y.data + c * y.stride[0];
        between_rows(table, row, upper.data + c * upper.stride[0], lower.data + c * lower.stride[0],
                     middle);
        if (is_spherical) {
            between_columns<true>(table, 0, middle, accumulate, out);
        } else {
            const int64_t first = is_double ? double_columns(table, middle, accumulate, out) : 0;
            between_columns<false>(table, first, middle, accumulate, out);
        }
    }
}

}  // namespace
}  // namespace surrogate::kernels::sphere::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace surrogate::kernels::sphere::simd {

void resample_row(VectorLevel level, const Resampling& table, int64_t row, Tile<const float> upper,
                  Tile<const float> lower, Tile<float> scratch, bool accumulate, Tile<float> y) {
    SURROGATE_AT_LEVEL(level, resample_row)
    (table, row, upper, lower, scratch, accumulate, y);
}

}  // namespace surrogate::kernels::sphere::simd
#endif
