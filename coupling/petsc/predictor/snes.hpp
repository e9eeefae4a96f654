// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <petscsnes.h>

namespace surrogate::petsc {

/// Makes a SNES one of type `surrogate`: for SNESRegister. A solve goes to the prediction if that
/// lowers |F|, else it stays. With a nonlinear preconditioner (SNESGetNPC, -npc_snes_type) that one
/// solves from there, with the tolerances of the SNES; if it fails from a prediction it solves once
/// more from the start. Without one the solve ends after the step, for the first of a composite. A
/// step costs one evaluation of the model and two of the function.
PetscErrorCode create_snes(SNES snes);

}  // namespace surrogate::petsc
