// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "solver.hpp"

namespace shallow_water {

/// Reduces emulated fields to the ones that the solver could have computed from the fields before
/// them: harmonics of its degrees, and the means of `before`, which its equations conserve. Bitwise
/// identical on any number of ranks. Collective.
void truncate(Solver& solver, const Fields& before, Fields* fields);

}  // namespace shallow_water
