// SPDX-License-Identifier: Apache-2.0
// A library to preload into the ranks of a job: one MPI call of one rank fails. The call is not
// made and returns an error without a call of the error handler.
//   SURROGATE_FAIL_MPI    "rank:n": call n (from 1 on) of this rank of MPI_COMM_WORLD fails
//   SURROGATE_COUNT_MPI   a file, to which each rank appends "rank n" with the number of its calls
// Calls count from MPI_Init on. A program chooses what counts by MPI_Pcontrol(level): 0 stops
// counting, 1 goes on, 2 stores the number of calls in a long whose address follows. Communication
// after the failure is reported on stderr.
#include <mpi.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace {

int own_rank = 0;
bool is_counting = false, has_failed = false;
long n_call = 0, failing_call = 0;

void begin() {
    PMPI_Comm_rank(MPI_COMM_WORLD, &own_rank);
    int rank = -1;
    long n = 0;
    const char* const chosen = std::getenv("SURROGATE_FAIL_MPI");
    if (chosen && std::sscanf(chosen, "%d:%ld", &rank, &n) == 2 && rank == own_rank)
        failing_call = n;
    is_counting = true;
}

void end() {
    is_counting = false;
    const char* const path = std::getenv("SURROGATE_COUNT_MPI");
    std::FILE* const file = path ? std::fopen(path, "a") : nullptr;
    if (!file) return;
    std::fprintf(file, "%d %ld\n", own_rank, n_call);
    std::fclose(file);
}

/// `is_local`: a call that cannot wait for other ranks.
bool fails(const char* name, bool is_local) {
    if (!is_counting) return false;
    if (has_failed && !is_local)
        std::fprintf(stderr, "failing_mpi: rank %d calls %s after the failure\n", own_rank, name);
    if (has_failed || ++n_call != failing_call) return false;
    std::fprintf(stderr, "failing_mpi: rank %d, call %ld fails: %s\n", own_rank, n_call, name);
    has_failed = true;
    return true;
}

}  // namespace

#define SURROGATE_MPI_CALL(name, parameters, arguments)                            \
    int MPI_##name parameters {                                                    \
        return fails("MPI_" #name, false) ? MPI_ERR_OTHER : PMPI_##name arguments; \
    }
#define SURROGATE_LOCAL_MPI_CALL(name, parameters, arguments)                     \
    int MPI_##name parameters {                                                   \
        return fails("MPI_" #name, true) ? MPI_ERR_OTHER : PMPI_##name arguments; \
    }

#pragma GCC visibility push(default)
extern "C" {

int MPI_Init(int* n, char*** words) {
    const int code = PMPI_Init(n, words);
    begin();
    return code;
}
int MPI_Init_thread(int* n, char*** words, int required, int* provided) {
    const int code = PMPI_Init_thread(n, words, required, provided);
    begin();
    return code;
}
int MPI_Finalize() {
    end();
    return PMPI_Finalize();
}
int MPI_Pcontrol(const int level, ...) {
    if (level < 2) is_counting = level != 0;
    if (level < 2) return MPI_SUCCESS;
    va_list arguments;
    va_start(arguments, level);
    *va_arg(arguments, long*) = n_call;
    va_end(arguments);
    return MPI_SUCCESS;
}

SURROGATE_LOCAL_MPI_CALL(Comm_rank, (MPI_Comm a, int* b), (a, b))
SURROGATE_LOCAL_MPI_CALL(Comm_size, (MPI_Comm a, int* b), (a, b))
SURROGATE_LOCAL_MPI_CALL(Comm_set_errhandler, (MPI_Comm a, MPI_Errhandler b), (a, b))
SURROGATE_MPI_CALL(Comm_dup, (MPI_Comm a, MPI_Comm* b), (a, b))
SURROGATE_MPI_CALL(Comm_split, (MPI_Comm a, int b, int c, MPI_Comm* d), (a, b, c, d))
SURROGATE_MPI_CALL(Comm_split_type, (MPI_Comm a, int b, int c, MPI_Info d, MPI_Comm* e),
                   (a, b, c, d, e))
SURROGATE_MPI_CALL(Barrier, (MPI_Comm a), (a))
SURROGATE_MPI_CALL(Bcast, (void* a, int b, MPI_Datatype c, int d, MPI_Comm e), (a, b, c, d, e))
SURROGATE_MPI_CALL(Allreduce, (const void* a, void* b, int c, MPI_Datatype d, MPI_Op e, MPI_Comm f),
                   (a, b, c, d, e, f))
SURROGATE_MPI_CALL(Iallreduce,
                   (const void* a, void* b, int c, MPI_Datatype d, MPI_Op e, MPI_Comm f,
                    MPI_Request* g),
                   (a, b, c, d, e, f, g))
SURROGATE_MPI_CALL(Gather,
                   (const void* a, int b, MPI_Datatype c, void* d, int e, MPI_Datatype f, int g,
                    MPI_Comm h),
                   (a, b, c, d, e, f, g, h))
SURROGATE_MPI_CALL(Allgather,
                   (const void* a, int b, MPI_Datatype c, void* d, int e, MPI_Datatype f,
                    MPI_Comm g),
                   (a, b, c, d, e, f, g))
SURROGATE_MPI_CALL(Allgatherv,
                   (const void* a, int b, MPI_Datatype c, void* d, const int* e, const int* f,
                    MPI_Datatype g, MPI_Comm h),
                   (a, b, c, d, e, f, g, h))
SURROGATE_MPI_CALL(Alltoall,
                   (const void* a, int b, MPI_Datatype c, void* d, int e, MPI_Datatype f,
                    MPI_Comm g),
                   (a, b, c, d, e, f, g))
SURROGATE_MPI_CALL(Send, (const void* a, int b, MPI_Datatype c, int d, int e, MPI_Comm f),
                   (a, b, c, d, e, f))
SURROGATE_MPI_CALL(Recv, (void* a, int b, MPI_Datatype c, int d, int e, MPI_Comm f, MPI_Status* g),
                   (a, b, c, d, e, f, g))
SURROGATE_MPI_CALL(Sendrecv,
                   (const void* a, int b, MPI_Datatype c, int d, int e, void* f, int g,
                    MPI_Datatype h, int i, int j, MPI_Comm k, MPI_Status* l),
                   (a, b, c, d, e, f, g, h, i, j, k, l))
SURROGATE_MPI_CALL(Isend,
                   (const void* a, int b, MPI_Datatype c, int d, int e, MPI_Comm f, MPI_Request* g),
                   (a, b, c, d, e, f, g))
SURROGATE_MPI_CALL(Irecv,
                   (void* a, int b, MPI_Datatype c, int d, int e, MPI_Comm f, MPI_Request* g),
                   (a, b, c, d, e, f, g))
SURROGATE_MPI_CALL(Wait, (MPI_Request * a, MPI_Status* b), (a, b))
SURROGATE_MPI_CALL(Waitall, (int a, MPI_Request* b, MPI_Status* c), (a, b, c))

}  // extern "C"
#pragma GCC visibility pop
