// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <petscsnes.h>

namespace surrogate::petsc {

/// Creates a SNES of type `surrogate`; passed to SNESRegister. A solve steps to the prediction if
/// that reduces |F|, and otherwise keeps the start. With a nonlinear preconditioner (SNESGetNPC,
/// -npc_snes_type), the preconditioner solves from there with the tolerances of the SNES; if it
/// fails from a prediction, it solves once more from the start. Without it the solve ends after the
/// step, for use as the first part of a composite. A step costs one evaluation of the model and two
/// of the function.
PetscErrorCode create_snes(SNES snes);

}  // namespace surrogate::petsc
