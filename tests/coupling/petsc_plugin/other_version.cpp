// SPDX-License-Identifier: Apache-2.0
// A program whose PETSc says that it is of another minor version: this definition stands before
// PETSc's own.
#include <petscsys.h>
#include <surrogate/surrogate_petsc.h>

#include <cstdio>

extern "C" __attribute__((visibility("default"))) PetscErrorCode PetscGetVersionNumber(
    PetscInt* major, PetscInt* minor, PetscInt* subminor, PetscInt* release) {
    if (major) *major = 3;
    if (minor) *minor = 99;
    if (subminor) *subminor = 0;
    if (release) *release = 1;
    return 0;
}

int main(int argc, char** argv) {
    if (PetscInitialize(&argc, &argv, nullptr, nullptr)) return 2;
    if (PetscPushErrorHandler(PetscReturnErrorHandler, nullptr)) return 2;
    const PetscErrorCode error = surrogate_petsc_register();
    char* text = nullptr;
    if (error && PetscErrorMessage(error, nullptr, &text) == 0 && text) std::puts(text);
    if (PetscPopErrorHandler() || PetscFinalize()) return 2;
    return error == PETSC_ERR_ARG_INCOMP ? 0 : 1;
}
