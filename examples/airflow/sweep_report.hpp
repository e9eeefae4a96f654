// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sweep.hpp"

namespace airflow {

/// Prints the methods that are compared, and the columns of print_sweep_cases().
PetscErrorCode print_sweep_head(MPI_Comm comm, const Settings& settings);
/// Prints one line per case during the run.
PetscErrorCode print_sweep_cases(MPI_Comm comm, const std::vector<SweepCase>& cases);
/// Prints the tables, one per size in settings.sweep_points, and the cost of the solver over its
/// panels. `bodies` has the cases of each body.
PetscErrorCode print_sweep_tables(MPI_Comm comm, const Settings& settings,
                                  const std::vector<std::vector<SweepCase>>& bodies);

}  // namespace airflow
