// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <petscsys.h>
#include <surrogate/surrogate.h>

namespace surrogate::petsc {

// Order between PETSc's work on a device and runs of a plan with backend cuda on the same Vecs:
// runs go to the stream of PETSc's current device context. A PETSc older than 3.20 does not show
// its stream: there each side waits on the host for the other.

/// Orders the plan's further work after PETSc's work so far.
PetscErrorCode follow_petsc(surrogate_plan* plan);

/// Orders PETSc's further work after the plan's run.
PetscErrorCode let_petsc_follow(surrogate_plan* plan);

}  // namespace surrogate::petsc
