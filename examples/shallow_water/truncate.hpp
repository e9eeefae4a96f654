// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "solver.hpp"

namespace shallow_water {

/// Leaves of emulated fields what the solver could have made of those before them: harmonics of its
/// degrees, and the means of `before`, which its equations keep. The same bits on any number of
/// ranks. Collective.
void truncate(Solver& solver, const Fields& before, Fields* fields);

}  // namespace shallow_water
