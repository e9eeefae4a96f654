// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

namespace shallow_water {

/// Returns the bytes of a file on all ranks; rank 0 reads. Throws Stop. Collective.
std::vector<char> read_shared(MPI_Comm comm, const std::string& path);

/// Writes the bytes of rank 0 (other ranks' are ignored) under a temporary name; the complete file
/// is renamed into place. Throws Stop. Collective.
void write_shared(MPI_Comm comm, const std::string& path, const std::vector<char>& bytes);

}  // namespace shallow_water
