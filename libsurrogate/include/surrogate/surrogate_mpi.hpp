// SPDX-License-Identifier: Apache-2.0
#ifndef SURROGATE_MPI_HPP
#define SURROGATE_MPI_HPP

#include <surrogate/surrogate_mpi.h>

#include <surrogate/surrogate.hpp>

namespace surrogate {

/// A context over the ranks of `comm`; collective, see surrogate_context_create_mpi.
inline Context mpi_context(MPI_Comm comm, const Options& options = {}) {
    surrogate_context* handle = nullptr;
    check(surrogate_context_create_mpi(comm, options.get(), &handle));
    return Context(handle);
}

}  // namespace surrogate

#endif
