// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "libsurrogate/src/model/bsa/branches.hpp"
#include "libsurrogate/src/model/bsa/config.hpp"
#include "libsurrogate/src/model/bsa/layers.hpp"
#include "libsurrogate/src/model/program.hpp"

namespace surrogate::impl::bsa {

/// Ball Sparse Attention on a domain of points. Local. `config`, `layers`, the domain and what the
/// request names must outlive it. hook: for tests; null otherwise.
template <class T>
std::unique_ptr<Program> make_program(const Config& config, const Layers<T>& layers,
                                      const PointDomain& domain, const PlanRequest& request,
                                      const ChoiceHook& hook = {});

}  // namespace surrogate::impl::bsa
