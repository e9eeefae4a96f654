// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "libsurrogate/src/model/family/program.hpp"
#include "libsurrogate/src/model/flare/config.hpp"
#include "libsurrogate/src/model/flare/layers.hpp"

namespace surrogate::impl::flare {

/// Makes FLARE on a domain of several clouds, each of which is a problem of its own: encode
/// averages over the points of a cloud, and decode reads the latents of the point's cloud.
/// `config`, `layers` and the domain must outlive it. Local.
template <class T>
std::unique_ptr<Program> make_cloud_program(const Config& config, const Layers<T>& layers,
                                            const PointDomain& domain, const PlanRequest& request);

}  // namespace surrogate::impl::flare
