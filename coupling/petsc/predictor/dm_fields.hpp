// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <petscdm.h>

#include <string>
#include <vector>

namespace surrogate::petsc {

/// The names of the components of a point in the DM's vectors: of a DMDA those of DMDASetFieldName,
/// of a DMPlex the fields of its section, velocity.x, velocity.y, .. for one of several components.
/// Empty for other DMs.
PetscErrorCode component_names(DM dm, std::vector<std::string>* names);

/// Says for a text: "p, velocity.x, velocity.y", or "none".
std::string list_of(const std::vector<std::string>& names);

}  // namespace surrogate::petsc
