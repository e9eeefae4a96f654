// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/sphere/resample.hpp"
#include "kernels/sphere/stencil.hpp"

namespace surrogate::impl::sphere {

/// Combines a convolution behind an interpolation into one stencil from the coarse grid:
/// interpolation commutes with rotations by a coarse step, and a row next to a pole gives its mean
/// to the pole, which is a strip as long as the ring. `table` leads from the coarse grid to
/// convolution's input; the longitudes there are a multiple of the coarse ones, and of
/// convolution's output as many. Weights are added up in double.
kernels::sphere::Stencil upsampled(const kernels::sphere::Stencil& convolution,
                                   const kernels::sphere::Resampling& table);

}  // namespace surrogate::impl::sphere
