// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

namespace shallow_water {

/// The bytes of a file on all ranks; rank 0 reads. Throws Stop.
/// Collective.
std::vector<char> read_shared(MPI_Comm comm, const std::string& path);

/// Rank 0 writes bytes (of other ranks ignored) under another name and renames the file when it is
/// whole. Throws Stop. Collective.
void write_shared(MPI_Comm comm, const std::string& path, const std::vector<char>& bytes);

}  // namespace shallow_water
