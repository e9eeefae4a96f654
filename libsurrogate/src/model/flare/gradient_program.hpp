// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "libsurrogate/src/model/family/gradient_program.hpp"
#include "libsurrogate/src/model/family/network.hpp"
#include "libsurrogate/src/model/flare/config.hpp"
#include "libsurrogate/src/model/flare/layers.hpp"

namespace surrogate::impl::flare {

/// Makes FLARE on a domain of points, forward and backward. `config`, `layers` and the domain must
/// outlive it. For sequences see make_sequence_gradient_program(). If dinputs of backward() is
/// empty on one rank, it is empty on all. Local.
template <class T>
std::unique_ptr<GradientProgram> make_gradient_program(const Config& config,
                                                       const Layers<T>& layers,
                                                       const PointDomain& domain,
                                                       const PlanRequest& request);

}  // namespace surrogate::impl::flare
