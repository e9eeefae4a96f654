// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/sequoia/children_backward_simd.cpp"
#include <hwy/foreach_target.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernels/sequoia/backward.hpp"
#include "kernels/sequoia/brood-inl.h"

HWY_BEFORE_NAMESPACE();
namespace surrogate::kernels::sequoia::HWY_NAMESPACE {
namespace {

/// Replaces the products <g, v_j> of one parent by ds_j.
void differentiate(int64_t n_own, const float* weights, float* slopes) {
    const float delta = join_lanes(weighted(n_own, weights, slopes));
    const Vector log_2 = broadcast(std::numbers::ln2_v<float>);
    for (int64_t i = 0; i < n_own * lane_count; i += width) {
        const Vector above = hn::Sub(load(slopes + i), broadcast(delta));
        store(hn::Mul(hn::Mul(log_2, load(weights + i)), above), slopes + i);
    }
}

/// Adds to(c, j) += factor(j) x(c) for `count` columns j.
void add_outer(Rows x, const float* factor, int64_t count, float* to, int64_t to_row) {
    for (int64_t c = 0; c < x.n_dim; ++c, to += to_row) {
        const float value = x.data[c * x.row];
        int64_t j = 0;
        for (; j + width <= count; j += width)
            store(mul_add(load(factor + j), broadcast(value), load(to + j)), to + j);
        for (; j < count; ++j) to[j] = std::fma(factor[j], value, to[j]);
    }
}

void attend_children_backward(const Heads& heads, int64_t k_branch, int64_t n_last,
                              Tile<const float> q, Tile<const float> k, Tile<const float> v,
                              Tile<const float> g, float* scratch, Tile<float> dq, Tile<float> dk,
                              Tile<float> dv) {
    const int64_t d = heads.n_key_dim, e = heads.n_value_dim, n_child = k.shape[1];
    const int64_t n_padded = round_up(k_branch, lane_count), n_own = n_padded / lane_count;
    float *keys = scratch, *values = keys + d * n_padded;
    float *weights = values + e * n_padded, *slopes = weights + n_padded;
    for (int64_t h = 0; h < heads.n_head; ++h) {
        for (int64_t p = 0; p * k_branch < n_child; ++p) {
            const int64_t first = p * k_branch, count = std::min(k_branch, n_child - first);
            const Rows of_q = rows_of(q, h, d).from(p), of_g = rows_of(g, h, e).from(p);
            Rows of_k = rows_of(k, h, d).from(first), of_v = rows_of(v, h, e).from(first);
            if (count < n_padded) {
                copy_columns(of_k, count, n_padded, keys);
                copy_columns(of_v, count, n_padded, values);
                of_k = {keys, n_padded, d};
                of_v = {values, n_padded, e};
            }
            const bool has_end = first + count == n_child;
            multiply_children(of_q, of_k, n_own, 1, weights);
            weigh_children(n_own, count, has_end ? static_cast<float>(std::log2(n_last)) : 0.0f,
                           weights);
            multiply_children(of_g, of_v, n_own, 1, slopes);
            differentiate(n_own, weights, slopes);
            average_children(n_own, slopes, of_k,
                             [&](int64_t c, float value) { dq(h * d + c, p) += value; });
            add_outer(of_q, slopes, count, &dk(h * d, first), dk.stride[0]);
            add_outer(of_g, weights, count, &dv(h * e, first), dv.stride[0]);
        }
    }
}

}  // namespace
}  // namespace surrogate::kernels::sequoia::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace surrogate::kernels::sequoia::simd {

void attend_children_backward(VectorLevel level, const Heads& heads, int64_t k_branch,
                              int64_t n_last, Tile<const float> q, Tile<const float> k,
                              Tile<const float> v, Tile<const float> g, float* scratch,
                              Tile<float> dq, Tile<float> dk, Tile<float> dv) {
    SURROGATE_AT_LEVEL(level, attend_children_backward)
    (heads, k_branch, n_last, q, k, v, g, scratch, dq, dk, dv);
}

}  // namespace surrogate::kernels::sequoia::simd
#endif
