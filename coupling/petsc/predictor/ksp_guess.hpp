// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <petscksp.h>

namespace surrogate::petsc {

/// Makes a KSPGuess one of type `surrogate`: for KSPGuessRegister. A solve costs one evaluation,
/// one product with the matrix and two norms more; a second product if the program gives its own
/// start.
PetscErrorCode create_ksp_guess(KSPGuess guess);

}  // namespace surrogate::petsc
