/* SPDX-License-Identifier: Apache-2.0 */
/* Not an MPI: only what surrogate_mpi.h needs of MPICH. */
#define MPICH_VERSION "4.0"
typedef int MPI_Comm;
typedef int MPI_Fint;
