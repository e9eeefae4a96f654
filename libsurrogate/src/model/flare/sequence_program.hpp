// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "libsurrogate/src/model/flare/config.hpp"
#include "libsurrogate/src/model/flare/layers.hpp"
#include "libsurrogate/src/model/program.hpp"

namespace surrogate::impl::flare {

/// The sequence classifier (ModelWrapper) on the points of a domain, which are its tokens, in
/// canonical order: by global id, or without ids by coordinates. Local. `config`, `layers` and the
/// domain must outlive it.
template <class T>
std::unique_ptr<Program> make_sequence_program(const Config& config, const Layers<T>& layers,
                                               const PointDomain& domain,
                                               const PlanRequest& request);

}  // namespace surrogate::impl::flare
