// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <petscdm.h>
#include <petscmat.h>
#include <petscvec.h>

#include <array>

namespace surrogate::petsc {

/// Objects of a solver that requests a prediction. All are borrowed.
struct Problem {
    PetscObject solver = nullptr;  ///< KSP or SNES; its communicator is used
    DM dm = nullptr;               ///< null: none, or created by PETSc for a solver without one
    Mat matrix = nullptr;          ///< of the linear system; null for a SNES
    Vec rhs = nullptr;             ///< may be null for a SNES
    Vec start = nullptr;           ///< the start of the solve; null: zero
    Vec solution = nullptr;        ///< in: the values of the start; out: the prediction
    MatNullSpace null_space = nullptr;  ///< attached to the matrix or the Jacobian; may be null

    MPI_Comm comm() const { return PetscObjectComm(solver); }

    /// Returns "KSP" or "SNES", for texts.
    const char* kind() const;

    /// Returns the objects that Vecs may be composed with, in the order of the search.
    std::array<PetscObject, 3> holders() const {
        return {solver, reinterpret_cast<PetscObject>(dm), reinterpret_cast<PetscObject>(matrix)};
    }

    /// Finds the object that is composed with one of the holders under a name; borrowed, null if
    /// there is none. Errors: PETSC_ERR_ARG_WRONG if it has another class.
    PetscErrorCode find_composed(const char* name, Vec* vec) const;
    PetscErrorCode find_composed(const char* name, MatNullSpace* space) const;
};

/// Sets problem->dm to the first DM that the program has created: of the solver, of the matrix, of
/// the right-hand side, of the solution. Null if there is none. A DMShell, which PETSc creates for
/// a solver without a DM, is ignored. Local.
/// @param matrix  the operator or the Jacobian, may be null
/// @param x       the program's solution
PetscErrorCode find_dm(DM of_solver, Mat matrix, Vec x, Problem* problem);

}  // namespace surrogate::petsc
