// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "libsurrogate/src/domain/domain.hpp"
#include "libsurrogate/src/model/family/gradient_program.hpp"
#include "libsurrogate/src/model/sequoia/config.hpp"
#include "libsurrogate/src/model/sequoia/layers.hpp"

namespace surrogate::impl::sequoia {

/// Sequoia on a domain of points on one rank, forward and backward. Local. `config`, `layers` and
/// the domain must outlive it. Throws not_supported on several ranks.
///
/// doutputs of read-outs have their rows. dinputs of tokens become NaN: words have no gradient. A
/// run is one chunk, whose sums over nodes run in one order on the calling thread: they have the
/// same bits for any number of threads.
template <class T>
std::unique_ptr<GradientProgram> make_gradient_program(const Config& config,
                                                       const Layers<T>& layers,
                                                       const PointDomain& domain,
                                                       const PlanRequest& request);

}  // namespace surrogate::impl::sequoia
