// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "libsurrogate/src/model/flare/config.hpp"
#include "libsurrogate/src/model/flare/weights.hpp"
#include "libsurrogate/src/model/network.hpp"

namespace surrogate::impl::flare {

/// FLARE on a domain of points: gathers inputs, sweeps, reduces, scatters outputs. Collective;
/// local failures are agreed on. `config` and `weights` must outlive it; the domain's context must
/// too.
template <class T>
std::unique_ptr<Execution> make_execution(const Config& config, const Weights<T>& weights,
                                          const PointDomain& domain, const PlanRequest& request);

}  // namespace surrogate::impl::flare
