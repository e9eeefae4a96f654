// SPDX-License-Identifier: Apache-2.0
// Sums over points. This file is compiled once per SIMD instruction set. There are lane_count
// partial sums, and point i is added to sum i % lane_count at every vector width, so that results
// are bitwise identical on every instruction set.
#if defined(SURROGATE_POINT_SUM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SURROGATE_POINT_SUM_INL_H_
#undef SURROGATE_POINT_SUM_INL_H_
#else
#define SURROGATE_POINT_SUM_INL_H_
#endif

#include "kernels/base/vector-inl.h"
#include "kernels/base/view.hpp"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::HWY_NAMESPACE {

/// Returns the vector with all lanes from n on replaced by 0, NaNs included; n may be negative.
HWY_INLINE Vector first_lanes(Vector v, int64_t n) {
    if (n >= width) return v;
    if (n <= 0) return broadcast(0.0f);
    return hn::IfThenElseZero(hn::FirstN(Tag(), static_cast<size_t>(n)), v);
}

/// Partial sums of one running sum over points.
class PointSum {
public:
    PointSum() {
        for (Vector& part : part_) part = broadcast(0.0f);
    }

    /// Adds vector `part` of a group of lane_count points.
    HWY_INLINE void add(int part, Vector v) { part_[part] = hn::Add(part_[part], v); }

    /// Returns the sum of all lanes, joined by halves: lane l adds l + 8, then l + 4, l + 2 and l +
    /// 1.
    HWY_INLINE float join() const {
        alignas(64) float lane[lane_count];
        for (int j = 0; j < n_part; ++j) store(part_[j], lane + j * width);
        for (int64_t n = lane_count / 2; n > 0; n /= 2) {
            for (int64_t l = 0; l < n; ++l) lane[l] += lane[l + n];
        }
        return lane[0];
    }

    static constexpr int n_part = static_cast<int>(lane_count / width);

private:
    Vector part_[n_part];
};

}  // namespace surrogate::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
