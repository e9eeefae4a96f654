// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace surrogate::impl {

/// Returns whether MPI has been initialized; true also after MPI_Finalize.
bool has_mpi_started();

/// Returns whether MPI has been finalized.
bool is_mpi_finalized();

/// Throws invalid_argument unless MPI is initialized and not yet finalized.
void require_mpi();

/// Throws as require_mpi(), and not_supported if the program runs an MPI of another make than the
/// library was built with, whose handles have other types. Call before the first MPI call that
/// takes a handle of the caller.
void require_own_mpi();

}  // namespace surrogate::impl
