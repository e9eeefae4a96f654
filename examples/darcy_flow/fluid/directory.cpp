// SPDX-License-Identifier: Apache-2.0
#include "directory.hpp"

#include <filesystem>
#include <system_error>

namespace darcy {

PetscErrorCode make_directory(MPI_Comm comm, const std::string& path) {
    PetscFunctionBegin;
    PetscMPIInt rank = 0;
    PetscCallMPI(MPI_Comm_rank(comm, &rank));
    std::error_code error;
    if (rank == 0) std::filesystem::create_directories(path, error);
    int failed = error ? 1 : 0;
    PetscCallMPI(MPI_Bcast(&failed, 1, MPI_INT, 0, comm));
    PetscCheck(!failed, comm, PETSC_ERR_FILE_OPEN, "-output %s: cannot create the directory",
               path.c_str());
    PetscFunctionReturn(0);
}

}  // namespace darcy
