// SPDX-License-Identifier: Apache-2.0
#include "problem.hpp"

#include <petscdmshell.h>

namespace surrogate::petsc {

const char* Problem::kind() const {
    const char* name = nullptr;
    return PetscObjectGetClassName(solver, &name) == 0 && name ? name : "solver";
}

namespace {

PetscErrorCode find_object(const Problem& problem, const char* name, PetscClassId kind,
                           const char* kind_name, PetscObject* object) {
    PetscFunctionBegin;
    *object = nullptr;
    for (const PetscObject holder : problem.holders()) {
        if (holder) PetscCall(PetscObjectQuery(holder, name, object));
        if (*object) break;
    }
    if (!*object) PetscFunctionReturn(0);
    PetscClassId found = 0;
    PetscCall(PetscObjectGetClassId(*object, &found));
    PetscCheck(found == kind, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG,
               "the object composed under the name '%s' is not a %s", name, kind_name);
    PetscFunctionReturn(0);
}

}  // namespace

PetscErrorCode Problem::find_composed(const char* name, Vec* vec) const {
    return find_object(*this, name, VEC_CLASSID, "Vec", reinterpret_cast<PetscObject*>(vec));
}

PetscErrorCode Problem::find_composed(const char* name, MatNullSpace* space) const {
    return find_object(*this, name, MAT_NULLSPACE_CLASSID, "MatNullSpace",
                       reinterpret_cast<PetscObject*>(space));
}

PetscErrorCode find_dm(DM of_solver, Mat matrix, Vec x, Problem* problem) {
    PetscFunctionBegin;
    DM of_matrix = nullptr, of_rhs = nullptr, of_solution = nullptr;  // borrowed
    if (matrix) PetscCall(MatGetDM(matrix, &of_matrix));
    if (problem->rhs) PetscCall(VecGetDM(problem->rhs, &of_rhs));
    PetscCall(VecGetDM(x, &of_solution));
    problem->dm = nullptr;
    for (DM dm : {of_solver, of_matrix, of_rhs, of_solution}) {
        if (!dm) continue;
        PetscBool is_shell = PETSC_FALSE;
        PetscCall(PetscObjectTypeCompare(reinterpret_cast<PetscObject>(dm), DMSHELL, &is_shell));
        if (is_shell) continue;
        problem->dm = dm;
        break;
    }
    PetscFunctionReturn(0);
}

}  // namespace surrogate::petsc
