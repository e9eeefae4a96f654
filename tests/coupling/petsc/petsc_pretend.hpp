// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <petsc/private/vecimpl.h>

#include <map>

namespace surrogate::test {

/// Memory type that Vecs report, and counts of arrays taken and restored.
struct Pretended {
    std::map<Vec, PetscMemType> memory;
    int n_asked = 0, n_given_back = 0;
};
inline Pretended pretended;

/// PETSc may be without devices here. From here on an ordinary Vec says that it lies in `memory`,
/// to those who ask; host access goes on as ever.
inline void pretend(Vec vec, PetscMemType memory) {
    pretended.memory[vec] = memory;
    pretended.n_asked = pretended.n_given_back = 0;
    vec->ops->getarrayandmemtype = [](Vec v, PetscScalar** data, PetscMemType* found) {
        ++pretended.n_asked;
        *found = pretended.memory.at(v);
        return VecGetArray(v, data);
    };
    vec->ops->restorearrayandmemtype = [](Vec v, PetscScalar** data) {
        ++pretended.n_given_back;
        return VecRestoreArray(v, data);
    };
    vec->ops->getarrayreadandmemtype = [](Vec v, const PetscScalar** data, PetscMemType* found) {
        ++pretended.n_asked;
        *found = pretended.memory.at(v);
        return VecGetArrayRead(v, data);
    };
    vec->ops->restorearrayreadandmemtype = [](Vec v, const PetscScalar** data) {
        ++pretended.n_given_back;
        return VecRestoreArrayRead(v, data);
    };
}

}  // namespace surrogate::test
