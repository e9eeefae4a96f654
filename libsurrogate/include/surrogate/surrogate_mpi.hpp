// SPDX-License-Identifier: Apache-2.0
#ifndef SURROGATE_MPI_HPP
#define SURROGATE_MPI_HPP

// The C interface of surrogate_mpi.h as owners and exceptions; header-only, C++17. Errors are
// documented there. A call that fails throws surrogate::Error.

#include <surrogate/surrogate_mpi.h>

#include <string>
#include <surrogate/surrogate.hpp>

namespace surrogate {

/// Creates a context over the ranks of `comm`. Collective; see surrogate_context_create_mpi.
inline Context mpi_context(MPI_Comm comm, const Options& options = {}) {
    surrogate_context* handle = nullptr;
    check(surrogate_context_create_mpi(comm, options.get(), &handle));
    return Context(handle);
}

/// Creates context, model, domain and plan in one call. Collective; see surrogate_plan_open_mpi.
inline Plan mpi_plan(MPI_Comm comm, const std::string& path, const surrogate_points& points,
                     const Options& options = {}) {
    surrogate_plan* handle = nullptr;
    check(surrogate_plan_open_mpi(comm, path.c_str(), &points, options.get(), &handle));
    return Plan(handle);
}

/// Returns the communicator of a context, borrowed; see surrogate_context_comm.
inline MPI_Comm mpi_comm(const Context& context) {
    MPI_Comm comm = MPI_COMM_NULL;
    check(surrogate_context_comm(context.get(), &comm));
    return comm;
}

}  // namespace surrogate

#endif
