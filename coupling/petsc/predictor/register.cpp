// SPDX-License-Identifier: Apache-2.0
#include <petscksp.h>
#include <petscsnes.h>
#include <surrogate/surrogate_petsc.h>

#include "coupling/petsc/predictor/ksp_guess.hpp"
#include "coupling/petsc/predictor/snes.hpp"

namespace {

/// The types look into structs of PETSc's that any minor version may change.
PetscErrorCode check_version() {
    PetscFunctionBegin;
    PetscInt major = 0, minor = 0;
    PetscCall(PetscGetVersionNumber(&major, &minor, nullptr, nullptr));
    PetscCheck(major == PETSC_VERSION_MAJOR && minor == PETSC_VERSION_MINOR, PETSC_COMM_SELF,
               PETSC_ERR_ARG_INCOMP,
               "libsurrogate_petsc was built with PETSc %d.%d, this program runs %" PetscInt_FMT
               ".%" PetscInt_FMT "; build libsurrogate with the PETSc of the program",
               PETSC_VERSION_MAJOR, PETSC_VERSION_MINOR, major, minor);
    PetscFunctionReturn(0);
}

}  // namespace

extern "C" PetscErrorCode surrogate_petsc_register(void) {
    PetscFunctionBegin;
    PetscCall(check_version());
    PetscCall(KSPGuessRegister("surrogate", surrogate::petsc::create_ksp_guess));
    PetscCall(SNESRegister("surrogate", surrogate::petsc::create_snes));
    PetscFunctionReturn(0);
}
