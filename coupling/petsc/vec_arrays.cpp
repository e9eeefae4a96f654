// SPDX-License-Identifier: Apache-2.0
#include "vec_arrays.hpp"

#include <utility>

namespace surrogate::petsc {

PetscErrorCode VecArray::open(Vec vec, Access access, VecPlace place) {
    PetscFunctionBegin;
    access_ = access;
    place_ = place;
    PetscCall(place == VecPlace::host ? open_on_host(vec) : open_as_it_lies(vec));
    vec_ = vec;
    PetscFunctionReturn(0);
}

PetscErrorCode VecArray::close() {
    PetscFunctionBegin;
    Vec vec = std::exchange(vec_, nullptr);
    if (!vec) PetscFunctionReturn(0);
    PetscCall(place_ == VecPlace::host ? close_on_host(vec) : close_as_it_lies(vec));
    PetscFunctionReturn(0);
}

PetscErrorCode VecArray::open_on_host(Vec vec) {
    PetscFunctionBegin;
    memory_ = PETSC_MEMTYPE_HOST;
    switch (access_) {
        case Access::read: PetscCall(VecGetArrayRead(vec, &read_)); break;
        case Access::write: PetscCall(VecGetArrayWrite(vec, &written_)); break;
        case Access::read_write: PetscCall(VecGetArray(vec, &written_)); break;
    }
    PetscFunctionReturn(0);
}

PetscErrorCode VecArray::open_as_it_lies(Vec vec) {
    PetscFunctionBegin;
    switch (access_) {
        case Access::read: PetscCall(VecGetArrayReadAndMemType(vec, &read_, &memory_)); break;
        case Access::write: PetscCall(VecGetArrayWriteAndMemType(vec, &written_, &memory_)); break;
        case Access::read_write: PetscCall(VecGetArrayAndMemType(vec, &written_, &memory_)); break;
    }
    PetscFunctionReturn(0);
}

PetscErrorCode VecArray::close_on_host(Vec vec) {
    PetscFunctionBegin;
    switch (access_) {
        case Access::read: PetscCall(VecRestoreArrayRead(vec, &read_)); break;
        case Access::write: PetscCall(VecRestoreArrayWrite(vec, &written_)); break;
        case Access::read_write: PetscCall(VecRestoreArray(vec, &written_)); break;
    }
    PetscFunctionReturn(0);
}

PetscErrorCode VecArray::close_as_it_lies(Vec vec) {
    PetscFunctionBegin;
    switch (access_) {
        case Access::read: PetscCall(VecRestoreArrayReadAndMemType(vec, &read_)); break;
        case Access::write: PetscCall(VecRestoreArrayWriteAndMemType(vec, &written_)); break;
        case Access::read_write: PetscCall(VecRestoreArrayAndMemType(vec, &written_)); break;
    }
    PetscFunctionReturn(0);
}

}  // namespace surrogate::petsc
