// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <petscsys.h>
#include <surrogate/surrogate.h>

namespace surrogate::petsc {

/// Describes memory of PetscScalar with rows `stride` numbers apart and contiguous columns. The
/// library only reads inputs.
inline surrogate_array scalar_array(const PetscScalar* data, int64_t n_row, int64_t n_column,
                                    int64_t stride, int32_t space = SURROGATE_HOST) {
    constexpr int32_t dtype =
        sizeof(PetscScalar) == sizeof(double) ? SURROGATE_FLOAT64 : SURROGATE_FLOAT32;
    return {const_cast<PetscScalar*>(data), {n_row, n_column}, {stride, 1}, dtype, space};
}

}  // namespace surrogate::petsc
