// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <memory>

#include "libsurrogate/src/context/context.hpp"
#include "libsurrogate/src/core/communicator.hpp"

namespace surrogate::impl {

/// Makes a communicator over a duplicate of `comm`, so that messages of the library and of the
/// solver never match; the duplicate returns errors instead of aborting and is freed with the
/// object (not after MPI_Finalize). Collective. Throws invalid_argument if MPI is not running or
/// comm is not an intracommunicator, mpi if it cannot be duplicated, no_memory on all ranks if one
/// of them has none. longest_piece: bytes of a message, or elements of a reduction, in one MPI
/// call; longer ones are cut. MPI counts in int, hence 1 GiB at most; tests cut finer.
std::unique_ptr<Communicator> mpi_communicator(MPI_Comm comm, int64_t longest_piece = 1 << 30);

/// Returns the duplicate of a communicator of mpi_communicator(); MPI_COMM_NULL for others.
MPI_Comm mpi_comm_of(const Communicator& ours);

/// Returns MPI_Comm_compare of comm with the communicator that `ours` duplicated; without MPI
/// behind it, MPI_CONGRUENT to a communicator of one rank and MPI_UNEQUAL to others. Local.
int compare(const Communicator& ours, MPI_Comm comm);

/// Finds ranks and cores of this rank's node; `ranks` comes from mpi_communicator(). Collective.
Placement find_placement(Communicator& ranks);

}  // namespace surrogate::impl
