// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "libsurrogate/src/domain/domain.hpp"
#include "libsurrogate/src/model/family/gradient_program.hpp"
#include "libsurrogate/src/model/sequoia/config.hpp"
#include "libsurrogate/src/model/sequoia/layers.hpp"

namespace surrogate::impl::sequoia {

/// Creates the program of Sequoia with forward and backward pass on a domain of points. Local.
/// `config`, `layers` and the domain must outlive it.
///
/// doutputs of nodes and clouds have the rows of the outputs, equal on all ranks. dinputs may also
/// have the columns of positions, as in gather(): their gradients are zero if positions only
/// determine the tree. dinputs of tokens are set to NaN: words have no gradient. A run has one
/// chunk for each node of the block level, with its descendants, and one for each group of siblings
/// above. Sums over nodes depend on the tree only: they are bitwise identical for any number of
/// ranks and threads if the chunks are added exactly.
template <class T>
std::unique_ptr<GradientProgram> make_gradient_program(const Config& config,
                                                       const Layers<T>& layers,
                                                       const PointDomain& domain,
                                                       const PlanRequest& request);

}  // namespace surrogate::impl::sequoia
