// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <surrogate/surrogate_petsc.h>

namespace surrogate::petsc {

/// That the DM is on the communicator of the context.
PetscErrorCode check_dm_comm(const surrogate_context* context, DM dm);

/// That the DM is a DMDA.
PetscErrorCode check_da(DM dm);

}  // namespace surrogate::petsc
