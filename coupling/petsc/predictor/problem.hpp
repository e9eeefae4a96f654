// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <petscdm.h>
#include <petscmat.h>
#include <petscvec.h>

#include <array>

namespace surrogate::petsc {

/// Objects of a solver that requests a prediction. All are borrowed.
struct Problem {
    PetscObject solver = nullptr;       ///< KSP or SNES: its communicator
    DM dm = nullptr;                    ///< null: none, or one that PETSc made for a solver without
    Mat matrix = nullptr;               ///< of the linear system; null for a SNES
    Vec rhs = nullptr;                  ///< may be null for a SNES
    Vec start = nullptr;                ///< what the solve starts from; null: zero
    Vec solution = nullptr;             ///< in: the values of the start; out: the prediction
    MatNullSpace null_space = nullptr;  ///< attached to the matrix or the Jacobian; may be null

    MPI_Comm comm() const { return PetscObjectComm(solver); }

    /// "KSP" or "SNES", for texts.
    const char* kind() const;

    /// The objects that Vecs may be composed with, in the order in which they are asked.
    std::array<PetscObject, 3> holders() const {
        return {solver, reinterpret_cast<PetscObject>(dm), reinterpret_cast<PetscObject>(matrix)};
    }

    /// Finds the object composed with one of the holders under a name, borrowed; null if there is
    /// none. Errors: PETSC_ERR_ARG_WRONG if its class is another one.
    PetscErrorCode find_composed(const char* name, Vec* vec) const;
    PetscErrorCode find_composed(const char* name, MatNullSpace* space) const;
};

/// Sets problem->dm to the first DM that the program has made: of the solver, of the matrix, of the
/// right-hand side, of the solution. Null if there is none; a shell, which PETSc makes for a solver
/// without a DM, is none. Local.
/// @param matrix  the operator or the Jacobian, may be null
/// @param x       the program's solution
PetscErrorCode find_dm(DM of_solver, Mat matrix, Vec x, Problem* problem);

}  // namespace surrogate::petsc
