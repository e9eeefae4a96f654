// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <petscvec.h>
#include <surrogate/surrogate_petsc.h>

#include <cstdint>

namespace surrogate::petsc {

/// Creates a domain of points at the coordinates of a Vec with local part (n_point, n_axis). `ids`
/// are global ids (n_point) or null. Collective.
PetscErrorCode create_from_coordinates(surrogate_context* context, Vec coordinates, PetscInt n_axis,
                                       const int64_t* ids, int64_t n_point,
                                       surrogate_domain** domain);

}  // namespace surrogate::petsc
