// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "libsurrogate/src/model/family/gradient_program.hpp"
#include "libsurrogate/src/model/family/network.hpp"
#include "libsurrogate/src/model/flare/config.hpp"
#include "libsurrogate/src/model/flare/layers.hpp"

namespace surrogate::impl::flare {

/// Makes the sequence classifier (ModelWrapper) on the points of a domain, which are its tokens, in
/// canonical order: by global id, or without ids by coordinates. `config`, `layers` and the domain
/// must outlive it. Local.
template <class T>
std::unique_ptr<Program> make_sequence_program(const Config& config, const Layers<T>& layers,
                                               const PointDomain& domain,
                                               const PlanRequest& request);

/// Makes the sequence classifier, forward and backward. Words have no gradients: dinputs of
/// backward() are NaN. doutputs of one prediction for all tokens, which every rank has, are the
/// same on every rank. Local.
template <class T>
std::unique_ptr<GradientProgram> make_sequence_gradient_program(const Config& config,
                                                                const Layers<T>& layers,
                                                                const PointDomain& domain,
                                                                const PlanRequest& request);

}  // namespace surrogate::impl::flare
