// SPDX-License-Identifier: Apache-2.0
// The C++ wrappers, in a project that has asked for C++14: the target requires C++17 for the
// headers.
#include <iostream>
#include <surrogate/surrogate.hpp>
#ifdef WITH_mpi
#include <surrogate/surrogate_mpi.hpp>
#endif
#ifdef WITH_petsc
#include <surrogate/surrogate_petsc.h>
#endif
#ifdef WITH_vtk
#include <surrogate/surrogate_vtk.h>
#endif

static_assert(__cplusplus >= 201703L, "the target asks for C++17");

int main(int argc, char** argv) {
    int rank = 0;
#ifdef WITH_mpi
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    surrogate::mpi_context(MPI_COMM_WORLD);
    MPI_Finalize();
#else
    surrogate::Context context;
    static_cast<void>(argc);
    static_cast<void>(argv);
#endif
#ifdef WITH_petsc
    if (surrogate_petsc_error_code(SURROGATE_SHAPE) != PETSC_ERR_ARG_SIZ) return 1;
#endif
#ifdef WITH_vtk
    surrogate_series* series = nullptr;
    if (surrogate_series_create("no/such/folder/a.pvd", 0, 1, &series) == SURROGATE_SUCCESS)
        return 1;
#endif
    if (rank == 0) std::cout << "all as expected\n";
}
