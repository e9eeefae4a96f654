// SPDX-License-Identifier: Apache-2.0
#include "vec_arrays.hpp"

#include <utility>

namespace surrogate::petsc {

PetscErrorCode VecArray::open(Vec vec, Access access) {
    PetscFunctionBegin;
    access_ = access;
    switch (access) {
        case Access::read: PetscCall(VecGetArrayReadAndMemType(vec, &read_, &memory_)); break;
        case Access::write: PetscCall(VecGetArrayWriteAndMemType(vec, &written_, &memory_)); break;
        case Access::read_write: PetscCall(VecGetArrayAndMemType(vec, &written_, &memory_)); break;
    }
    vec_ = vec;
    PetscFunctionReturn(0);
}

PetscErrorCode VecArray::close() {
    PetscFunctionBegin;
    Vec vec = std::exchange(vec_, nullptr);
    if (!vec) PetscFunctionReturn(0);
    switch (access_) {
        case Access::read: PetscCall(VecRestoreArrayReadAndMemType(vec, &read_)); break;
        case Access::write: PetscCall(VecRestoreArrayWriteAndMemType(vec, &written_)); break;
        case Access::read_write: PetscCall(VecRestoreArrayAndMemType(vec, &written_)); break;
    }
    PetscFunctionReturn(0);
}

}  // namespace surrogate::petsc
