/* SPDX-License-Identifier: Apache-2.0
 * C99 with the components it is compiled for: every header is included, a function of every
 * library is called. */
#include <stdio.h>
#include <string.h>
#include <surrogate/surrogate.h>
#ifdef WITH_mpi
#include <surrogate/surrogate_mpi.h>
#endif
#ifdef WITH_petsc
#include <surrogate/surrogate_petsc.h>
#endif
#ifdef WITH_vtk
#include <surrogate/surrogate_vtk.h>
#endif

static int fail(const char* what) {
    fprintf(stderr, "%s: %s\n", what, surrogate_error(NULL));
    return 1;
}

int main(int argc, char** argv) {
    surrogate_context* context = NULL;
    int rank = 0;
#ifdef WITH_mpi
    int relation = MPI_UNEQUAL;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (surrogate_context_create_mpi(MPI_COMM_WORLD, NULL, &context) != SURROGATE_SUCCESS)
        return fail("context");
    surrogate_context_compare_comm(context, MPI_COMM_WORLD, &relation);
    if (relation != MPI_CONGRUENT) return fail("communicator");
#else
    (void)argc;
    (void)argv;
    if (surrogate_context_create(NULL, &context) != SURROGATE_SUCCESS) return fail("context");
#endif
#ifdef WITH_petsc
    if (surrogate_petsc_error_code(SURROGATE_SHAPE) != PETSC_ERR_ARG_SIZ) return fail("petsc");
#endif
#ifdef WITH_vtk
    {
        surrogate_series* series = NULL;
        if (surrogate_series_create("no/such/folder/a.pvd", 0, 1, &series) == SURROGATE_SUCCESS)
            return fail("vtk");
    }
#endif
    surrogate_context_destroy(&context);
#ifdef WITH_mpi
    MPI_Finalize();
#endif
    if (rank == 0) printf("all as expected\n");
    return 0;
}
