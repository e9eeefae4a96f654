// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "libsurrogate/src/model/bsa/config.hpp"
#include "libsurrogate/src/model/bsa/layers.hpp"
#include "libsurrogate/src/model/family/gradient_program.hpp"
#include "libsurrogate/src/model/family/network.hpp"

namespace surrogate::impl::bsa {

/// Creates the program of Ball Sparse Attention with forward and backward pass on a domain of
/// points. Local. `config`, `layers`, the domain and the objects of the request must outlive it.
/// Throws not_supported for a single layer.
///
/// Trees, chosen blocks, relative positions and distances count as constants. Gradients of a
/// reproducible plan are bitwise identical for any number of ranks and threads.
template <class T>
std::unique_ptr<GradientProgram> make_gradient_program(const Config& config,
                                                       const Layers<T>& layers,
                                                       const PointDomain& domain,
                                                       const PlanRequest& request);

}  // namespace surrogate::impl::bsa
