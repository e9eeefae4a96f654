// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "settings.hpp"
#include "study.hpp"

namespace million {

/// Print the output of the program, on rank 0. Collective.
PetscErrorCode print_problem(MPI_Comm comm, const Predictor& predictor);
PetscErrorCode print_head(MPI_Comm comm, const Settings& settings, const Predictor& predictor);
PetscErrorCode print_row(MPI_Comm comm, const Result& result);
/// Prints the sizes and memory of each rank for one plate.
PetscErrorCode print_ranks(MPI_Comm comm, const Result& result);
PetscErrorCode print_end(MPI_Comm comm, const std::vector<Result>& results);

}  // namespace million
