// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libsurrogate/src/model/hept/config.hpp"

namespace surrogate::impl::hept {

/// Computes the gradient of w_rpe.weight (H d, K (D - 1)) from the gradient of the scales of head
/// h, and adds it to dw. With wbar(r, k) the sum of w over the d rows of the head:
///
///   domega(r) = ds(r + 1) / s(r + 1), and for r = 0 also ds(0) / s(0);   0 where s is 0
///   dw(i, r K + k) = domega(r) exp(wbar(r, k)) for all d rows i of the head;   0 where wbar > 50
///
///   scale (D), dscale (D); in double
template <class T>
void add_scale_gradient(const Config& config, int64_t h, const T* w, const T* scale,
                        const double* dscale, double* dw);

}  // namespace surrogate::impl::hept
