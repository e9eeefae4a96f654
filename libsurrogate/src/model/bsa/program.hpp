// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "libsurrogate/src/model/bsa/config.hpp"
#include "libsurrogate/src/model/bsa/layers.hpp"
#include "libsurrogate/src/model/family/program.hpp"

namespace surrogate::impl::bsa {

/// Creates the program of Ball Sparse Attention on a domain of points. Local. `config`, `layers`,
/// the domain and the objects of the request must outlive it.
template <class T>
std::unique_ptr<Program> make_program(const Config& config, const Layers<T>& layers,
                                      const PointDomain& domain, const PlanRequest& request);

}  // namespace surrogate::impl::bsa
