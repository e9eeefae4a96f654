// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <petscsnes.h>

namespace surrogate::petsc {

/// Makes a SNES one of type `surrogate`: for SNESRegister. A solve goes to the prediction if that
/// lowers |F|, else it stays; it ends there, so that it is made the first of a composite, or a
/// nonlinear preconditioner. It costs one evaluation and two functions.
PetscErrorCode create_snes(SNES snes);

}  // namespace surrogate::petsc
