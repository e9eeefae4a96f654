/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SURROGATE_MPI_H
#define SURROGATE_MPI_H

#include <mpi.h>
#include <surrogate/surrogate.h>

/* The installed header of this name tells which make of MPI the library was built with. */
#if defined(__has_include)
#if __has_include(<surrogate/surrogate_mpi_make.h>)
#include <surrogate/surrogate_mpi_make.h>
#endif
#endif
#if defined(SURROGATE_BUILT_WITH_OPEN_MPI) && (defined(MPICH_VERSION) || defined(I_MPI_VERSION))
#error "libsurrogate was built with Open MPI, this program is compiled with MPICH; use one of them"
#endif
#if defined(SURROGATE_BUILT_WITH_MPICH) && defined(OPEN_MPI)
#error "libsurrogate was built with MPICH, this program is compiled with Open MPI; use one of them"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* If an MPI call fails on one rank, the library's call returns MPI or BROKEN on this rank within a
 * second. The other ranks may wait in the MPI call until the job ends: the host must call
 * MPI_Abort. Later calls on the context return BROKEN without communication. Destroying the context
 * and its objects sends nothing and waits for no rank (page how-to/troubleshoot.md). */

/* Thread levels of MPI. The library calls MPI in the thread that calls the library and in no other;
 * the threads of its kernels (option threads) send nothing.
 *   MPI_THREAD_SINGLE, FUNNELED  call it from the thread that initialized MPI
 *   MPI_THREAD_SERIALIZED        from any thread, while no other thread calls MPI
 *   MPI_THREAD_MULTIPLE          from any thread; each context from one thread at a time
 * Contexts check this when they are created, later calls do not. */

/* A context over the ranks of `comm`. Collective over comm, which is duplicated once and never used
 * again; its error handler stays as it is. options may be NULL; they are copied, and must be the
 * same on all ranks. Errors: INVALID_ARGUMENT (MPI not initialised or already finalised,
 * MPI_COMM_NULL, an intercommunicator, a thread that the thread level of MPI forbids),
 * NOT_SUPPORTED (built without MPI, or with an MPI of another make than the program runs: Open MPI
 * and MPICH have different handles), MPI (on the rank whose MPI call failed). */
SURROGATE_API surrogate_status surrogate_context_create_mpi(MPI_Comm comm,
                                                            const surrogate_options* options,
                                                            surrogate_context** context);

/* The same for a communicator of Fortran: an integer, or comm%MPI_VAL of mpi_f08. */
SURROGATE_API surrogate_status surrogate_context_create_fint(MPI_Fint comm,
                                                             const surrogate_options* options,
                                                             surrogate_context** context);

/* surrogate_plan_open over the ranks of `comm`; MPI_COMM_NULL, or MPI not initialised: this rank by
 * itself, without MPI, so that a host that has no communicator on one rank needs no branch.
 * Collective over comm. Since 0.1 */
SURROGATE_API surrogate_status surrogate_plan_open_mpi(MPI_Comm comm, const char* path,
                                                       const surrogate_points* points,
                                                       const surrogate_options* options,
                                                       surrogate_plan** plan);
SURROGATE_API surrogate_status surrogate_plan_open_fint(MPI_Fint comm, const char* path,
                                                        const surrogate_points* points,
                                                        const surrogate_options* options,
                                                        surrogate_plan** plan);

/* The communicator of a context, for adapters that communicate between two calls of the library:
 * the context's own duplicate, borrowed, not to be freed; MPI_COMM_NULL for a context of one rank
 * without MPI. Errors it raises are returned (MPI_ERRORS_RETURN). Local. Since 0.1 */
SURROGATE_API surrogate_status surrogate_context_comm(const surrogate_context* context,
                                                      MPI_Comm* comm);

/* Compares `comm` with the communicator of a context or plan, for couplings that check what they
 * are handed: *result as of MPI_Comm_compare (MPI_CONGRUENT for the communicator that the context
 * was made from; MPI_UNEQUAL if the context has no MPI, unless comm has one rank: MPI_CONGRUENT).
 * Local. */
SURROGATE_API surrogate_status surrogate_context_compare_comm(const surrogate_context* context,
                                                              MPI_Comm comm, int* result);
SURROGATE_API surrogate_status surrogate_plan_compare_comm(const surrogate_plan* plan,
                                                           MPI_Comm comm, int* result);

#ifdef __cplusplus
}
#endif

#endif
