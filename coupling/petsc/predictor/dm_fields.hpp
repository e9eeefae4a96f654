// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <petscdm.h>

#include <string>
#include <vector>

namespace surrogate::petsc {

/// Returns the names of the components of a point in the DM's vectors. For a DMDA they are set with
/// DMDASetFieldName. For a DMPlex they are the fields of its section; a field with several
/// components gives velocity.x, velocity.y, ... For other DMs the list is empty.
PetscErrorCode component_names(DM dm, std::vector<std::string>* names);

/// Returns a text such as "p, velocity.x, velocity.y", or "none".
std::string list_of(const std::vector<std::string>& names);

}  // namespace surrogate::petsc
