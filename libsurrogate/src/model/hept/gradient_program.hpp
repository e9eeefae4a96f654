// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "libsurrogate/src/domain/domain.hpp"
#include "libsurrogate/src/model/family/gradient_program.hpp"
#include "libsurrogate/src/model/hept/config.hpp"
#include "libsurrogate/src/model/hept/layers.hpp"

namespace surrogate::impl::hept {

/// Creates the program of HEPT with forward and backward pass on a domain of points. Local.
/// `config`, `layers` and the domain must outlive it.
///
/// Orders of tokens count as constants. dinputs may also have the columns of coordinates, as in
/// gather(). dinputs of classes of particles are set to NaN: a class has no gradient. A run has one
/// chunk for each block of points, with their copies. Gradients are bitwise identical for any
/// number of ranks and threads if the chunks are added exactly.
template <class T>
std::unique_ptr<GradientProgram> make_gradient_program(const Config& config,
                                                       const Layers<T>& layers,
                                                       const PointDomain& domain,
                                                       const PlanRequest& request);

}  // namespace surrogate::impl::hept
