// SPDX-License-Identifier: Apache-2.0
// Contexts over MPI. Contracts stand in surrogate_mpi.h.
#include "libsurrogate/src/api/handles.hpp"
#include "libsurrogate/src/dist/mpi_communicator.hpp"
#include "surrogate/surrogate_mpi.h"

using namespace surrogate::impl;

namespace {

/// Options must agree, or ranks would plan different exchanges: compares a hash of them over all ranks.
void require_same_options(Communicator& comm, const Options& options) {
    uint64_t hash = 14695981039346656037u;  // FNV-1a
    for (const char* key : {"backend", "precision", "reproducible"}) {
        for (char c : options.get(key))
            hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
    }
    const auto value = static_cast<int64_t>(hash >> 1);
    int64_t extremes[] = {value, -value};
    comm.all_reduce_max(std::span(extremes));
    comm.agree([&] {
        if (extremes[0] == -extremes[1]) return;
        throw Error(Status::invalid_argument,
                    "ranks give different values of backend, precision or reproducible; they must "
                    "be the same on all");
    });
}

}  // namespace

surrogate_status surrogate_context_create_mpi(MPI_Comm comm, const surrogate_options* options,
                                              surrogate_context** context) {
    return guarded(nullptr, [&] {
        if (context) *context = nullptr;
        std::unique_ptr<Communicator> ranks = mpi_communicator(comm);
        Communicator& all = *ranks;
        all.agree([&] { require(context, "context"); });
        require_same_options(all, options ? options->value : Options{});
        const Placement placement = find_placement(comm);
        std::unique_ptr<surrogate_context> created;
        all.agree([&] {
            created = std::make_unique<surrogate_context>();
            created->context = std::make_shared<Context>(
                std::move(ranks), options ? options->value : Options{}, placement);
            created->context->make_queue(created->context->options());
        });
        *context = created.release();
    });
}

surrogate_status surrogate_context_create_fint(MPI_Fint comm, const surrogate_options* options,
                                               surrogate_context** context) {
    // MPI_Comm_f2c aborts the host if MPI is not running.
    const surrogate_status status = guarded(nullptr, [&] { require_mpi(); });
    return status == SURROGATE_SUCCESS ? surrogate_context_create_mpi(MPI_Comm_f2c(comm), options, context) : status;
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
