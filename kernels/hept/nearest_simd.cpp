// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/hept/nearest_simd.cpp"
#include <hwy/foreach_target.h>

#include "kernels/base/vector-inl.h"
#include "kernels/hept/nearest_list.hpp"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::hept::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using namespace surrogate::kernels::HWY_NAMESPACE;

constexpr int n_part = static_cast<int>(lane_count / width);

/// Offers the points in lanes. Few of them are nearer than the last of the list, so those are
/// offered one by one.
HWY_INLINE void offer_lanes(const float* own, int64_t n_channel, const float* x, int64_t first,
                            int64_t n, NearestList<float>& best) {
    Vector square[n_part];
    for (Vector& part : square) part = broadcast(0.0f);
    for (int64_t c = 0; c < n_channel; ++c) {
        const Vector value = broadcast(own[c]);
        for (int j = 0; j < n_part; ++j) {
            const Vector difference = hn::Sub(value, load(x + c * block_points + j * width));
            square[j] = mul_add(difference, difference, square[j]);
        }
    }
    const Vector last = broadcast(best.distance[best.k - 1]);
    bool is_nearer = false;
    for (int j = 0; j < n_part; ++j)
        is_nearer = is_nearer || !hn::AllFalse(Tag(), hn::Lt(square[j], last));
    if (!is_nearer) return;
    alignas(64) float lane[lane_count];
    for (int j = 0; j < n_part; ++j) store(square[j], lane + j * width);
    for (int64_t j = 0; j < lane_count && j < n; ++j)
        best.offer(lane[j], static_cast<int32_t>(first + j));
}

void offer_block(View<const float, 2> e, std::span<const int32_t> queries, const float* x,
                 int64_t first, int64_t n, NearestList<float>* best) {
    for (size_t q = 0; q < queries.size(); ++q) {
        const float* own = &e(queries[q], 0);
        for (int64_t j = 0; j < n; j += lane_count)
            offer_lanes(own, e.shape[1], x + j, first + j, n - j, best[q]);
    }
}

}  // namespace
}  // namespace surrogate::kernels::hept::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace surrogate::kernels::hept::simd {

void offer_block(VectorLevel level, View<const float, 2> e, std::span<const int32_t> queries,
                 const float* x, int64_t first, int64_t n, NearestList<float>* best) {
    SURROGATE_AT_LEVEL(level, offer_block)(e, queries, x, first, n, best);
}

}  // namespace surrogate::kernels::hept::simd
#endif
