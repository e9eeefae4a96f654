// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <petscsys.h>

#include <tuple>
#include <utility>

namespace darcy {

/// Destroys a PETSc object at the end of its scope: Owner<Vec, VecDestroy> v; VecCreate(comm,
/// v.out());
template <class Object, PetscErrorCode (*destroy)(Object*)>
class Owner {
public:
    Owner() = default;
    ~Owner() { reset(); }
    Owner(Owner&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    Owner& operator=(Owner&& other) noexcept {
        std::swap(object_, other.object_);
        return *this;
    }
    operator Object() const { return object_; }
    /// Returns the address to which a function of PETSc writes a new object; destroys the owned
    /// object.
    Object* out() {
        reset();
        return &object_;
    }

private:
    void reset() {
        if (object_) std::ignore = destroy(&object_);
    }
    Object object_ = nullptr;
};

}  // namespace darcy
