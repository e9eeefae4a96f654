// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "run.hpp"

namespace darcy {

/// One line a run: steps, iterations, times, errors at the end against `reference` (null: none),
/// mass balance.
PetscErrorCode print_table(MPI_Comm comm, const std::vector<Result>& results,
                           const Result* reference);

/// Returns a table of the costs of the three initial guesses at several tolerances. Runs the solver
/// for each.
PetscErrorCode print_tolerance_study(FlowSolver& solver, Vec initial, PetscInt n_step,
                                     PetscReal dt);

}  // namespace darcy
