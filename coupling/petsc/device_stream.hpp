// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <petscsys.h>
#include <surrogate/surrogate.h>

namespace surrogate::petsc {

// Synchronization of PETSc's work on a device with runs of a plan with backend cuda on the same
// Vecs. Runs are enqueued on the stream of PETSc's current device context. PETSc before 3.20 does
// not give access to its stream; the host then waits for the work of PETSc and of the plan.

/// Enqueues the plan's further work behind PETSc's work so far.
PetscErrorCode follow_petsc(surrogate_plan* plan);

/// Enqueues PETSc's further work behind the plan's run.
PetscErrorCode let_petsc_follow(surrogate_plan* plan);

}  // namespace surrogate::petsc
