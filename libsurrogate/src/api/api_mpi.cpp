// SPDX-License-Identifier: Apache-2.0
// Contexts and plans over MPI. Contracts stand in surrogate_mpi.h.
#include "libsurrogate/src/api/api_open.hpp"
#include "libsurrogate/src/api/handles.hpp"
#include "libsurrogate/src/transport/device_transports.hpp"
#include "libsurrogate/src/transport/mpi_communicator.hpp"
#include "libsurrogate/src/transport/mpi_library.hpp"
#include "surrogate/surrogate_mpi.h"

using namespace surrogate::impl;

surrogate_status surrogate_context_create_mpi(MPI_Comm comm, const surrogate_options* options,
                                              surrogate_context** context) {
    static const Options none;
    const Options& asked = options ? options->value : none;
    return guarded(nullptr, [&] {
        if (context) *context = nullptr;
        std::unique_ptr<Communicator> ranks = mpi_communicator(comm);
        Communicator& all = *ranks;
        all.agree([&] { require(context, "context"); });
        require_same_options(all, asked);
        const Placement placement = find_placement(all);
        std::unique_ptr<surrogate_context> created;
        all.agree([&] {
            created = std::make_unique<surrogate_context>();
            created->context = std::make_shared<Context>(
                std::move(ranks), asked, placement, posix_files(),
                DeviceSources{load_device_plugin, collectives_with(load_nccl)});
        });
        created->context->open();
        *context = created.release();
    });
}

surrogate_status surrogate_context_create_fint(MPI_Fint comm, const surrogate_options* options,
                                               surrogate_context** context) {
    // MPI_Comm_f2c aborts the host if MPI is not running, or is another one.
    const surrogate_status status = guarded(nullptr, [&] { require_own_mpi(); });
    return status == SURROGATE_SUCCESS
               ? surrogate_context_create_mpi(MPI_Comm_f2c(comm), options, context)
               : status;
}

surrogate_status surrogate_plan_open_mpi(MPI_Comm comm, const char* path,
                                         const surrogate_points* points,
                                         const surrogate_options* options, surrogate_plan** plan) {
    if (comm == MPI_COMM_NULL || !has_mpi_started())
        return surrogate_plan_open(path, points, options, plan);
    if (plan) *plan = nullptr;
    surrogate_context* context = nullptr;
    const surrogate_status status = surrogate_context_create_mpi(comm, options, &context);
    return status == SURROGATE_SUCCESS ? open_plan(context, path, points, plan) : status;
}

surrogate_status surrogate_plan_open_fint(MPI_Fint comm, const char* path,
                                          const surrogate_points* points,
                                          const surrogate_options* options, surrogate_plan** plan) {
    if (!has_mpi_started()) return surrogate_plan_open(path, points, options, plan);
    if (plan) *plan = nullptr;
    // MPI_Comm_f2c aborts the host after MPI_Finalize, or if its MPI is another one.
    const surrogate_status status = guarded(nullptr, [&] { require_own_mpi(); });
    return status == SURROGATE_SUCCESS
               ? surrogate_plan_open_mpi(MPI_Comm_f2c(comm), path, points, options, plan)
               : status;
}

surrogate_status surrogate_context_comm(const surrogate_context* context, MPI_Comm* comm) {
    return guarded(context, [&] {
        require(comm, "comm");
        *comm = MPI_COMM_NULL;
        require(context, "context");
        *comm = mpi_comm_of(context->context->comm());
    });
}

namespace {

surrogate_status compare_comm(const surrogate_context* owner, const char* name, MPI_Comm comm,
                              int* result) {
    return guarded(owner, [&] {
        require(owner, name);
        require(result, "result");
        *result = compare(owner->context->comm(), comm);
    });
}

}  // namespace

surrogate_status surrogate_context_compare_comm(const surrogate_context* context, MPI_Comm comm,
                                                int* result) {
    return compare_comm(context, "context", comm, result);
}

surrogate_status surrogate_plan_compare_comm(const surrogate_plan* plan, MPI_Comm comm,
                                             int* result) {
    return compare_comm(owner_of(plan), "plan", comm, result);
}
