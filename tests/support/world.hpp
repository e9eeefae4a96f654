// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

namespace surrogate::test {

/// The communicator of all ranks of a test program.
inline const MPI_Comm world = MPI_COMM_WORLD;

}  // namespace surrogate::test
