// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <petscvec.h>

namespace surrogate::petsc {

/// The local array of a Vec while the guard lives: taken where it lies (host or device), given back
/// on every path.
class VecArray {
public:
    enum class Access { read, write, read_write };

    VecArray() = default;
    ~VecArray() { close(); }
    VecArray(const VecArray&) = delete;
    VecArray& operator=(const VecArray&) = delete;

    PetscErrorCode open(Vec vec, Access access);
    /// Gives the array back early, with PETSc's verdict.
    PetscErrorCode close();

    Vec vec() const { return vec_; }
    const PetscScalar* data() const { return access_ == Access::read ? read_ : written_; }
    PetscMemType memory() const { return memory_; }

private:
    Vec vec_ = nullptr;  // not null: the array is held
    Access access_ = Access::read;
    const PetscScalar* read_ = nullptr;
    PetscScalar* written_ = nullptr;
    PetscMemType memory_ = PETSC_MEMTYPE_HOST;
};

}  // namespace surrogate::petsc
