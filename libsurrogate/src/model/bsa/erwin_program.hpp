// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "libsurrogate/src/model/bsa/erwin_layers.hpp"
#include "libsurrogate/src/model/family/program.hpp"

namespace surrogate::impl::bsa::erwin {

/// Creates the program of Erwin's U-net; see Network::program. `config` and `layers` must outlive
/// it. Local.
template <class T>
std::unique_ptr<Program> make_program(const Config& config, const Layers<T>& layers,
                                      const PointDomain& domain, const PlanRequest& request);

}  // namespace surrogate::impl::bsa::erwin
