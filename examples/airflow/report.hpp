// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "settings.hpp"
#include "study.hpp"

namespace airflow {

/// Prints the reason why a requested surrogate is not available.
PetscErrorCode print_problem(MPI_Comm comm, const Predictor& predictor);
PetscErrorCode print_head(MPI_Comm comm, const Settings& settings, const Predictor& predictor);
/// Prints one line per body, during the run.
PetscErrorCode print_row(MPI_Comm comm, const Result& result);
/// Prints the mean error over the bodies, and the meaning of the columns.
PetscErrorCode print_end(MPI_Comm comm, const std::vector<Result>& results);

}  // namespace airflow
