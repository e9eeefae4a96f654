// SPDX-License-Identifier: Apache-2.0
#include "problem.hpp"

#include <petscdmshell.h>

namespace surrogate::petsc {

const char* Problem::kind() const {
    const char* name = nullptr;
    return PetscObjectGetClassName(solver, &name) == 0 && name ? name : "solver";
}

PetscErrorCode Problem::find_composed(const char* name, Vec* vec) const {
    PetscFunctionBegin;
    *vec = nullptr;
    for (const PetscObject holder : holders()) {
        PetscObject found = nullptr;
        if (holder) PetscCall(PetscObjectQuery(holder, name, &found));
        if (!found) continue;
        PetscClassId kind = 0;
        PetscCall(PetscObjectGetClassId(found, &kind));
        PetscCheck(kind == VEC_CLASSID, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG,
                   "what is composed under the name '%s' is no Vec; fields of the card are Vecs",
                   name);
        *vec = reinterpret_cast<Vec>(found);
        break;
    }
    PetscFunctionReturn(0);
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
