// SPDX-License-Identifier: Apache-2.0
#include "domain_vec.hpp"

#include "scalar_array.hpp"

namespace surrogate::petsc {

PetscErrorCode create_from_coordinates(surrogate_context* context, Vec coordinates, PetscInt n_axis,
                                       const int64_t* ids, int64_t n_point,
                                       surrogate_domain** domain) {
    PetscFunctionBegin;
    const PetscScalar* x = nullptr;  // (n_point, n_axis)
    PetscCall(VecGetArrayRead(coordinates, &x));
    surrogate_points points{};
    points.x = scalar_array(x, n_point, n_axis, n_axis);
    points.global_id = ids;
    const surrogate_status status = surrogate_domain_create_points(context, &points, domain);
    PetscCall(VecRestoreArrayRead(coordinates, &x));
    PetscCallSurrogate(status);
    PetscFunctionReturn(0);
}

}  // namespace surrogate::petsc
