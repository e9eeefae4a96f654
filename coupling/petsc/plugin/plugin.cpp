// SPDX-License-Identifier: Apache-2.0
// PETSc calls this function in a program that does not use the library, if the program is started
// with
//   -dll_append <path>/libsurrogate_petsc_plugin.so
// PETSc derives the name of the function from the name of the file.
#include <surrogate/surrogate_petsc.h>

PETSC_EXTERN PetscErrorCode PetscDLLibraryRegister_surrogate_petsc_plugin(void) {
    PetscFunctionBegin;
    PetscCall(surrogate_petsc_register());
    PetscFunctionReturn(0);
}
