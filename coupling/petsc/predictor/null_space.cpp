// SPDX-License-Identifier: Apache-2.0
#include "null_space.hpp"

namespace surrogate::petsc {

namespace {

constexpr const char* null_space_name = "nullspace";

/// Owns one reference to a null space.
class NullSpace {
public:
    NullSpace() = default;
    ~NullSpace() { MatNullSpaceDestroy(&space_); }
    NullSpace(const NullSpace&) = delete;
    NullSpace& operator=(const NullSpace&) = delete;

    PetscErrorCode share(MatNullSpace space) {
        PetscFunctionBegin;
        PetscCall(PetscObjectReference(reinterpret_cast<PetscObject>(space)));
        space_ = space;
        PetscFunctionReturn(0);
    }
    MatNullSpace get() const { return space_; }
    MatNullSpace* slot() { return &space_; }

private:
    MatNullSpace space_ = nullptr;
};

/// Creates the null space that DMCreateMatrix attaches: the null space of the first field that has
/// one.
PetscErrorCode make_from_dm(DM dm, NullSpace* found) {
    PetscFunctionBegin;
    PetscInt n_field = 0;
    PetscCall(DMGetNumFields(dm, &n_field));
    for (PetscInt field = 0; field < n_field; ++field) {
        PetscErrorCode (*make)(DM, PetscInt, PetscInt, MatNullSpace*) = nullptr;
        PetscCall(DMGetNullSpaceConstructor(dm, field, &make));
        if (!make) continue;
        PetscCall(make(dm, field, field, found->slot()));
        break;
    }
    PetscFunctionReturn(0);
}

PetscErrorCode find_null_space(const Problem& problem, NullSpace* found) {
    PetscFunctionBegin;
    if (problem.null_space)
        PetscCall(found->share(problem.null_space));
    else if (problem.dm)
        PetscCall(make_from_dm(problem.dm, found));
    if (found->get()) PetscFunctionReturn(0);
    MatNullSpace composed = nullptr;  // borrowed
    PetscCall(problem.find_composed(null_space_name, &composed));
    if (composed) PetscCall(found->share(composed));
    PetscFunctionReturn(0);
}

}  // namespace

PetscErrorCode remove_null_space(const Problem& problem, Vec prediction) {
    PetscFunctionBegin;
    NullSpace space;
    PetscCall(find_null_space(problem, &space));
    if (!space.get()) PetscFunctionReturn(0);
    if (problem.start) PetscCall(VecAXPY(prediction, -1, problem.start));
    PetscCall(MatNullSpaceRemove(space.get(), prediction));
    if (problem.start) PetscCall(VecAXPY(prediction, 1, problem.start));
    PetscFunctionReturn(0);
}

}  // namespace surrogate::petsc
