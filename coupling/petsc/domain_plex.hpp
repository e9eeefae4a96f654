// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <surrogate/surrogate_petsc.h>

namespace surrogate::petsc {

/// Implements surrogate_domain_create_dm() for a DMPlex. Collective.
PetscErrorCode create_plex_domain(surrogate_context* context, DM dm, surrogate_domain** domain);

}  // namespace surrogate::petsc
