// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "settings.hpp"
#include "solver.hpp"

namespace shallow_water {

/// Writes the data set of the settings: hourly states of n_run runs of the solver, run r from the
/// initial state of seed + r. The file has the same bytes on any number of ranks. Prints one line
/// per run on rank 0. Throws Stop. Collective.
void make_data(const Settings& settings, Solver& solver);

}  // namespace shallow_water
