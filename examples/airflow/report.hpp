// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "settings.hpp"
#include "study.hpp"

namespace airflow {

/// Why there is no surrogate, if one was asked for.
PetscErrorCode print_problem(MPI_Comm comm, const Predictor& predictor);
PetscErrorCode print_head(MPI_Comm comm, const Settings& settings, const Predictor& predictor);
/// One line a body, while they come.
PetscErrorCode print_row(MPI_Comm comm, const Result& result);
/// The mean error over the bodies, and what the columns mean.
PetscErrorCode print_end(MPI_Comm comm, const std::vector<Result>& results);

}  // namespace airflow
