// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "libsurrogate/src/domain/domain.hpp"
#include "libsurrogate/src/model/family/gradient_program.hpp"
#include "libsurrogate/src/model/sequoia/config.hpp"
#include "libsurrogate/src/model/sequoia/layers.hpp"

namespace surrogate::impl::sequoia {

/// Creates the program of Sequoia with forward and backward pass on a domain of points on one rank.
/// Local. `config`, `layers` and the domain must outlive it. Throws not_supported on several ranks.
///
/// doutputs of nodes and clouds have the rows of the outputs. dinputs of tokens are set to NaN:
/// words have no gradient. A run is one chunk. Its sums over nodes are computed in a fixed order on
/// the calling thread; they are bitwise identical for any number of threads.
template <class T>
std::unique_ptr<GradientProgram> make_gradient_program(const Config& config,
                                                       const Layers<T>& layers,
                                                       const PointDomain& domain,
                                                       const PlanRequest& request);

}  // namespace surrogate::impl::sequoia
