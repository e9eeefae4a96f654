// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "libsurrogate/src/model/flare_config.hpp"
#include "libsurrogate/src/model/flare_weights.hpp"
#include "libsurrogate/src/model/network.hpp"

namespace surrogate::impl {

/// FLARE on a domain of points: gathers inputs, sweeps, reduces, scatters outputs. Collective;
/// local failures are agreed on. `config` and `weights` must outlive it; the domain's context must
/// too.
template <class T>
std::unique_ptr<Execution> make_flare_execution(const FlareConfig& config,
                                                const FlareWeights<T>& weights,
                                                const PointDomain& domain,
                                                const PlanRequest& request);

}  // namespace surrogate::impl
