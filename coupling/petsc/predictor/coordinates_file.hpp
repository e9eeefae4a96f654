// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <petscvec.h>

#include <string>

namespace surrogate::petsc {

/// Reads the coordinates of a problem's points from a PETSc binary file. Collective.
/// @param path         holds a Vec of n_point * n_axis values, point by point in the global order
///                     of the solution, with 1 to 8 axes
/// @param flag         the option that names the file, for messages
/// @param solution     its points, one per block, determine the partition
/// @param coordinates  created, owned by the caller: block size n_axis
/// Errors: PETSC_ERR_FILE_OPEN, PETSC_ERR_FILE_UNEXPECTED (not a Vec, truncated, or a wrong
/// length); the same on all ranks.
PetscErrorCode read_coordinates(const std::string& path, const std::string& flag, Vec solution,
                                Vec* coordinates);

}  // namespace surrogate::petsc
