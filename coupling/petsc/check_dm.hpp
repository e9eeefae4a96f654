// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <surrogate/surrogate_petsc.h>

namespace surrogate::petsc {

/// Remedy in errors about meshes whose points have no defined location here.
inline constexpr const char* points_remedy =
    "pass the coordinates of the owned points to surrogate_domain_create_points, or (types "
    "surrogate of KSPGuess and SNES) set -surrogate_coordinates_file FILE or compose a Vec of them "
    "under the name \"coordinates\" with the KSP, SNES or matrix";

/// Checks that the DM is on the communicator of the context.
PetscErrorCode check_dm_comm(const surrogate_context* context, DM dm);

/// Checks that the DM is a DMDA.
PetscErrorCode check_da(DM dm);

}  // namespace surrogate::petsc
