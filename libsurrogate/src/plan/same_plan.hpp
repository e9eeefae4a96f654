// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libsurrogate/src/context/options.hpp"
#include "libsurrogate/src/domain/domain.hpp"
#include "libsurrogate/src/model/model.hpp"

namespace surrogate::impl {

/// Throws invalid_argument on all ranks unless all create their plan from the same model, from
/// domains that agree in the number of points, clouds and moves, and with equal exchange options.
/// Collective: one reduction and two agreements.
void require_same_plan(const Options& options, const Model& model, const Domain& input,
                       const Domain& output);

}  // namespace surrogate::impl
