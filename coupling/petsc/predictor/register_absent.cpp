// SPDX-License-Identifier: Apache-2.0
#include <surrogate/surrogate_petsc.h>

extern "C" PetscErrorCode surrogate_petsc_register(void) {
    PetscFunctionBegin;
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_SUP,
            "libsurrogate was built without the types `surrogate` of KSPGuess and SNES: its PETSc "
            "(%d.%d) is older than 3.18, or came without petsc/private/kspimpl.h and snesimpl.h; "
            "the report of its configuration says which",
            PETSC_VERSION_MAJOR, PETSC_VERSION_MINOR);
}
