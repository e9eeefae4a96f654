/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SURROGATE_MPI_H
#define SURROGATE_MPI_H

/* Contexts and plans over the ranks of an MPI communicator.
 *
 * If an MPI call fails on one rank, the library's call returns MPI or BROKEN on this rank within a
 * second. The other ranks may wait in the MPI call until the job ends: the host must call
 * MPI_Abort. Later calls on the context return BROKEN without communication. Destroying the context
 * and its objects sends nothing and waits for no rank (page how-to/troubleshoot.md).
 *
 * Thread levels of MPI. The library calls MPI in the thread that calls the library and in no other;
 * the threads of its kernels (option threads) send nothing.
 *   MPI_THREAD_SINGLE, FUNNELED  call it from the thread that initialized MPI
 *   MPI_THREAD_SERIALIZED        from any thread, while no other thread calls MPI
 *   MPI_THREAD_MULTIPLE          from any thread; each context from one thread at a time
 * Contexts check this when they are created, later calls do not. */

#include <mpi.h>
#include <surrogate/surrogate.h>

/* The installed header of this name defines the MPI implementation of the library's build. */
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

/* Creates a context over the ranks of `comm`. Collective over comm, which is duplicated once and
 * not used afterwards; its error handler is not changed. options may be NULL; they are copied, and
 * must be the same on all ranks. The caller destroys the context (surrogate_context_destroy).
 * Errors: INVALID_ARGUMENT (MPI not initialized or already finalized, MPI_COMM_NULL, an
 * intercommunicator, a thread that the thread level of MPI forbids), NOT_SUPPORTED (built without
 * MPI, or with another MPI implementation than the program runs: Open MPI and MPICH have different
 * handles), MPI (on the rank whose MPI call failed). */
SURROGATE_API surrogate_status surrogate_context_create_mpi(MPI_Comm comm,
                                                            const surrogate_options* options,
                                                            surrogate_context** context);

/* Creates a context over the ranks of a Fortran communicator: an integer, or comm%MPI_VAL of
 * mpi_f08. Otherwise as surrogate_context_create_mpi. Collective over comm.
 * Errors: as surrogate_context_create_mpi. */
SURROGATE_API surrogate_status surrogate_context_create_fint(MPI_Fint comm,
                                                             const surrogate_options* options,
                                                             surrogate_context** context);

/* Creates context, model, domain and plan in one call, as surrogate_plan_open, over the ranks of
 * `comm`. With MPI_COMM_NULL, or while MPI is not initialized, the plan is of this rank alone and
 * uses no MPI, so that a host without a communicator on one rank needs no branch. The caller
 * destroys the plan. Collective over comm.
 * Errors: as surrogate_context_create_mpi and surrogate_plan_open. Since 0.1 */
SURROGATE_API surrogate_status surrogate_plan_open_mpi(MPI_Comm comm, const char* path,
                                                       const surrogate_points* points,
                                                       const surrogate_options* options,
                                                       surrogate_plan** plan);

/* Does the same as surrogate_plan_open_mpi for a Fortran communicator. Collective over comm.
 * Errors: as surrogate_plan_open_mpi. Since 0.1 */
SURROGATE_API surrogate_status surrogate_plan_open_fint(MPI_Fint comm, const char* path,
                                                        const surrogate_points* points,
                                                        const surrogate_options* options,
                                                        surrogate_plan** plan);

/* Returns the communicator of a context, for adapters that communicate between two calls of the
 * library: the context's own duplicate, borrowed, not to be freed; MPI_COMM_NULL for a context of
 * one rank without MPI. Its error handler is MPI_ERRORS_RETURN. Local.
 * Errors: INVALID_ARGUMENT (NULL). Since 0.1 */
SURROGATE_API surrogate_status surrogate_context_comm(const surrogate_context* context,
                                                      MPI_Comm* comm);

/* Compares `comm` with the communicator of a context, for adapters that check their arguments.
 * *result is as from MPI_Comm_compare: MPI_CONGRUENT for the communicator that the context was
 * created from. For a context without MPI it is MPI_CONGRUENT if comm has one rank, else
 * MPI_UNEQUAL. Local. Errors: INVALID_ARGUMENT (NULL, MPI_COMM_NULL, MPI not initialized or
 * already finalized), NOT_SUPPORTED (built without MPI, or with another MPI implementation than the
 * program runs), MPI. */
SURROGATE_API surrogate_status surrogate_context_compare_comm(const surrogate_context* context,
                                                              MPI_Comm comm, int* result);

/* Compares `comm` with the communicator of a plan, as surrogate_context_compare_comm. Local.
 * Errors: as surrogate_context_compare_comm. */
SURROGATE_API surrogate_status surrogate_plan_compare_comm(const surrogate_plan* plan,
                                                           MPI_Comm comm, int* result);

#ifdef __cplusplus
}
#endif

#endif
