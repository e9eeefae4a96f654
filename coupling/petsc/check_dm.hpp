// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <surrogate/surrogate_petsc.h>

namespace surrogate::petsc {

/// That the DM is a DMDA on the communicator of the context.
PetscErrorCode check_dm(const surrogate_context* context, DM dm);

}  // namespace surrogate::petsc
