// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <petscsys.h>

#include <string>

namespace darcy {

/// Collective: the folder of option -output, made with those above it. An error on all ranks if it
/// cannot be made.
PetscErrorCode make_directory(MPI_Comm comm, const std::string& path);

}  // namespace darcy
