// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "libsurrogate/src/model/bsa/config.hpp"
#include "libsurrogate/src/model/bsa/layers.hpp"
#include "libsurrogate/src/model/family/gradient_program.hpp"
#include "libsurrogate/src/model/family/network.hpp"

namespace surrogate::impl::bsa {

/// Ball Sparse Attention on a domain of points on one rank, forward and backward. Local. `config`,
/// `layers`, the domain and what the request names must outlive it. Throws not_supported on several
/// ranks, and for a single layer.
///
/// Trees and chosen blocks count as constants. A run is one chunk. Its gradients have the same bits
/// for the same number of threads; those of a reproducible plan for any number, because it goes
/// back on one thread.
template <class T>
std::unique_ptr<GradientProgram> make_gradient_program(const Config& config,
                                                       const Layers<T>& layers,
                                                       const PointDomain& domain,
                                                       const PlanRequest& request);

}  // namespace surrogate::impl::bsa
