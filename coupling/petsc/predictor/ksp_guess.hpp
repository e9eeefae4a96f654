// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <petscksp.h>

namespace surrogate::petsc {

/// Creates a KSPGuess of type `surrogate`; passed to KSPGuessRegister. A solve costs one
/// evaluation, one more product with the matrix and two norms, and a second product if the program
/// sets its own start.
PetscErrorCode create_ksp_guess(KSPGuess guess);

}  // namespace surrogate::petsc
