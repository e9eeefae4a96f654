// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <petscvec.h>

#include "vec_place.hpp"

namespace surrogate::petsc {

/// Holds the local array of a Vec, in host memory or in its current memory space. The destructor
/// restores the array.
class VecArray {
public:
    enum class Access { read, write, read_write };

    VecArray() = default;
    ~VecArray() { close(); }
    VecArray(const VecArray&) = delete;
    VecArray& operator=(const VecArray&) = delete;

    PetscErrorCode open(Vec vec, Access access, VecPlace place);
    /// Restores the array early, and returns PETSc's error code.
    PetscErrorCode close();

    Vec vec() const { return vec_; }
    const PetscScalar* data() const { return access_ == Access::read ? read_ : written_; }
    PetscMemType memory() const { return memory_; }

private:
    PetscErrorCode open_on_host(Vec vec);
    PetscErrorCode open_as_it_lies(Vec vec);
    PetscErrorCode close_on_host(Vec vec);
    PetscErrorCode close_as_it_lies(Vec vec);

    Vec vec_ = nullptr;  // not null: the array is held
    Access access_ = Access::read;
    VecPlace place_ = VecPlace::host;
    const PetscScalar* read_ = nullptr;
    PetscScalar* written_ = nullptr;
    PetscMemType memory_ = PETSC_MEMTYPE_HOST;
};

}  // namespace surrogate::petsc
