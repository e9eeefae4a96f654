// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "libsurrogate/src/domain/domain.hpp"
#include "libsurrogate/src/model/family/program.hpp"
#include "libsurrogate/src/model/hept/config.hpp"
#include "libsurrogate/src/model/hept/layers.hpp"

namespace surrogate::impl::hept {

/// Creates the program of HEPT on a domain of points. Local. `config`, `layers` and the domain must
/// outlive it.
template <class T>
std::unique_ptr<Program> make_program(const Config& config, const Layers<T>& layers,
                                      const PointDomain& domain, const PlanRequest& request);

}  // namespace surrogate::impl::hept
