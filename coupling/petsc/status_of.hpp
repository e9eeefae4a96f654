// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <petscsys.h>
#include <surrogate/surrogate.h>

namespace surrogate::petsc {

/// Returns the status for an error of PETSc: the inverse of surrogate_petsc_error_code.
inline surrogate_status status_of(PetscErrorCode error) {
    switch (error) {
        case 0: return SURROGATE_SUCCESS;
        case PETSC_ERR_ARG_SIZ: return SURROGATE_SHAPE;
        case PETSC_ERR_SUP: return SURROGATE_NOT_SUPPORTED;
        case PETSC_ERR_MEM: return SURROGATE_NO_MEMORY;
        case PETSC_ERR_GPU: return SURROGATE_DEVICE;
        case PETSC_ERR_FP: return SURROGATE_NOT_FINITE;
        case PETSC_ERR_FILE_OPEN: return SURROGATE_IO;
        case PETSC_ERR_FILE_UNEXPECTED: return SURROGATE_BAD_FILE;
        case PETSC_ERR_ARG_OUTOFRANGE: return SURROGATE_OUT_OF_RANGE;
        case PETSC_ERR_MPI: return SURROGATE_MPI;
        case PETSC_ERR_LIB: return SURROGATE_INTERNAL;
        default: return SURROGATE_INVALID_ARGUMENT;
    }
}

}  // namespace surrogate::petsc
