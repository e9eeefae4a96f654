// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "libsurrogate/src/model/bsa/erwin_layers.hpp"
#include "libsurrogate/src/model/family/gradient_program.hpp"

namespace surrogate::impl::bsa::erwin {

/// Creates the program of Erwin's U-net; see Network::program. `config` and `layers` must outlive
/// it. Local.
template <class T>
std::unique_ptr<Program> make_program(const Config& config, const Layers<T>& layers,
                                      const PointDomain& domain, const PlanRequest& request);

/// Creates the program with forward and backward pass on a domain of points. Local. `config`,
/// `layers`, the domain and the objects of the request must outlive it. Trees, edges, differences
/// of positions and statistics of batch norms count as constants. dinputs may also have the columns
/// of positions, as in gather(), which receive the gradients through the features of positions
/// only: differentiates_coordinates() is false. Gradients are bitwise reproducible under the
/// conditions of Ball Sparse Attention.
template <class T>
std::unique_ptr<GradientProgram> make_gradient_program(const Config& config,
                                                       const Layers<T>& layers,
                                                       const PointDomain& domain,
                                                       const PlanRequest& request);

}  // namespace surrogate::impl::bsa::erwin
