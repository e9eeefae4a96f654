// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "libsurrogate/src/domain/sphere_domain.hpp"
#include "libsurrogate/src/model/network.hpp"
#include "libsurrogate/src/model/sphere/config.hpp"
#include "libsurrogate/src/model/sphere/weights.hpp"

namespace surrogate::impl::sphere {

/// A network of the sphere on the solver's blocks. Collective; local failures are agreed on. config
/// and weights must outlive it, the domains too.
template <class T>
std::unique_ptr<Execution> make_execution(const Config& config, const Weights<T>& weights,
                                          const SphereDomain& input, const SphereDomain& output,
                                          const PlanRequest& request);

}  // namespace surrogate::impl::sphere
