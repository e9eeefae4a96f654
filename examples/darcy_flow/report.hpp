// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "run.hpp"

namespace darcy {

/// Prints one line per run: steps, iterations, times, errors at the end against `reference` (null:
/// none), mass balance.
PetscErrorCode print_table(MPI_Comm comm, const std::vector<Result>& results,
                           const Result* reference);

/// Prints the cost of the three initial guesses at several tolerances, as a table. Runs the solver
/// for each.
PetscErrorCode print_tolerance_study(FlowSolver& solver, Vec initial, PetscInt n_step,
                                     PetscReal dt);

}  // namespace darcy
