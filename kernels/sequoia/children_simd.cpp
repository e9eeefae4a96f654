// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/sequoia/children_simd.cpp"
#include <hwy/foreach_target.h>

#include <algorithm>
#include <cmath>

#include "kernels/sequoia/brood-inl.h"
#include "kernels/sequoia/sequoia.hpp"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::sequoia::HWY_NAMESPACE {
namespace {

/// Processes n_parent parents, each with n_own chunks of columns, the first `count` of which are
/// its children.
void attend_broods(Rows q, Rows k, Rows v, int64_t n_own, int64_t count, float bonus,
                   int64_t n_parent, float* weights, float* y, int64_t y_row) {
    multiply_children(q, k, n_own, n_parent, weights);
    for (int64_t p = 0; p < n_parent; ++p, weights += n_own * lane_count) {
        weigh_children(n_own, count, bonus, weights);
        average_children(n_own, weights, v.from(p * n_own * lane_count),
                         [&](int64_t c, float value) { y[c * y_row + p] = value; });
    }
}

void attend_children(const Heads& heads, int64_t k_branch, int64_t n_last, Tile<const float> q,
                     Tile<const float> k, Tile<const float> v, float* scratch, Tile<float> y) {
    const int64_t d = heads.n_key_dim, e = heads.n_value_dim, n_child = k.shape[1];
    const int64_t n_padded = round_up(k_branch, lane_count), n_own = n_padded / lane_count;
    float *keys = scratch, *values = keys + d * n_padded, *weights = values + e * n_padded;
    // Whole chunks are read in place, others from a copy.
    const int64_t n_whole = k_branch == n_padded ? n_child / k_branch : 0;
    for (int64_t h = 0; h < heads.n_head; ++h) {
        const Rows of_q = rows_of(q, h, d), of_k = rows_of(k, h, d), of_v = rows_of(v, h, e);
        float* of_y = y.data + h * e * y.stride[0];
        attend_broods(of_q, of_k, of_v, n_own, k_branch, 0, n_whole, weights, of_y, y.stride[0]);
        for (int64_t p = n_whole; p * k_branch < n_child; ++p) {
            const int64_t first = p * k_branch, count = std::min(k_branch, n_child - first);
            copy_columns(of_k.from(first), count, n_padded, keys);
            copy_columns(of_v.from(first), count, n_padded, values);
            const bool has_end = first + count == n_child;
            attend_broods(of_q.from(p), {keys, n_padded, d}, {values, n_padded, e}, n_own, count,
                          has_end ? static_cast<float>(std::log2(n_last)) : 0.0f, 1, weights,
                          of_y + p, y.stride[0]);
        }
    }
}

}  // namespace
}  // namespace surrogate::kernels::sequoia::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace surrogate::kernels::sequoia::simd {

void attend_children(VectorLevel level, const Heads& heads, int64_t k_branch, int64_t n_last,
                     Tile<const float> q, Tile<const float> k, Tile<const float> v, float* scratch,
                     Tile<float> y) {
    SURROGATE_AT_LEVEL(level, attend_children)(heads, k_branch, n_last, q, k, v, scratch, y);
}

}  // namespace surrogate::kernels::sequoia::simd
#endif
