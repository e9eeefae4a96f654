// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "libsurrogate/src/model/exported/config.hpp"
#include "libsurrogate/src/model/exported/package.hpp"
#include "libsurrogate/src/model/family/program.hpp"

namespace surrogate::impl::exported {

/// Evaluates a package on the points of each rank. Ranks exchange nothing in a run. connect() and
/// follow() throw on all ranks: not_supported if a network per cloud has a cloud with points on
/// several ranks, shape if a cloud has a number of points that the package does not accept.
std::unique_ptr<Program> make_program(const Config& config, std::shared_ptr<const Package> package,
                                      const PointDomain& domain, const PlanRequest& request);

}  // namespace surrogate::impl::exported
