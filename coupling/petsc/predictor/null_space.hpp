// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <petscdm.h>
#include <petscmat.h>
#include <petscvec.h>

#include "coupling/petsc/predictor/problem.hpp"

namespace surrogate::petsc {

/// Removes the null space of the problem from the difference between prediction and start. Krylov
/// methods do not change this component and residuals do not show it, so it would stay in the
/// solution. Collective.
/// @param prediction  overwritten with start + P (prediction - start), P the projection
/// The null space is the first of: problem.null_space, which the solver has from its matrix; the
/// null space that the DM gives matrices (DMSetNullSpaceConstructor); a MatNullSpace composed under
/// the name "nullspace" with the solver, its DM or its matrix. Without a null space the prediction
/// is unchanged.
PetscErrorCode remove_null_space(const Problem& problem, Vec prediction);

}  // namespace surrogate::petsc
