// SPDX-License-Identifier: Apache-2.0
// What PETSc calls when a program that knows nothing of us is started with
//   -dll_append <path>/libsurrogate_petsc_plugin.so
// The name of the function is that of the file.
#include <surrogate/surrogate_petsc.h>

PETSC_EXTERN PetscErrorCode PetscDLLibraryRegister_surrogate_petsc_plugin(void) {
    PetscFunctionBegin;
    PetscCall(surrogate_petsc_register());
    PetscFunctionReturn(0);
}
