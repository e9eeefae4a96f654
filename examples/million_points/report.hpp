// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "settings.hpp"
#include "study.hpp"

namespace million {

/// Prints the report on rank 0. Collective.
PetscErrorCode print_problem(MPI_Comm comm, const Predictor& predictor);
PetscErrorCode print_head(MPI_Comm comm, const Settings& settings, const Predictor& predictor);
PetscErrorCode print_row(MPI_Comm comm, const Result& result);
/// Memory and time of each rank for one plate.
PetscErrorCode print_ranks(MPI_Comm comm, const Result& result);
PetscErrorCode print_end(MPI_Comm comm, const std::vector<Result>& results);

}  // namespace million
