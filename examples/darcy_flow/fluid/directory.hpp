// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <petscsys.h>

#include <string>

namespace darcy {

/// Creates the folder of option -output and its parents. Returns an error on all ranks if this
/// fails. Collective.
PetscErrorCode make_directory(MPI_Comm comm, const std::string& path);

}  // namespace darcy
