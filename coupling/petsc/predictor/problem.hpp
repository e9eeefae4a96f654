// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <petscdm.h>
#include <petscmat.h>
#include <petscvec.h>

#include <array>

namespace surrogate::petsc {

/// What a solver has when it asks for a prediction. All are borrowed.
struct Problem {
    PetscObject solver = nullptr;  ///< KSP or SNES: its communicator
    DM dm = nullptr;               ///< null: none, or one that PETSc made for a solver without
    Mat matrix = nullptr;          ///< of the linear system; null for a SNES
    Vec rhs = nullptr;             ///< may be null for a SNES
    Vec solution = nullptr;        ///< in: what the solve starts from; out: the prediction

    MPI_Comm comm() const { return PetscObjectComm(solver); }

    /// "KSP" or "SNES", for texts.
    const char* kind() const;

    /// The objects that Vecs may be composed with, in the order in which they are asked.
    std::array<PetscObject, 3> holders() const {
        return {solver, reinterpret_cast<PetscObject>(dm), reinterpret_cast<PetscObject>(matrix)};
    }

    /// The Vec composed with one of them under a name, borrowed; null if there is none.
    PetscErrorCode find_composed(const char* name, Vec* vec) const;
};

/// A DM that the program has set: null for the shell that PETSc makes where there is none.
PetscErrorCode usable_dm(DM dm, DM* usable);

}  // namespace surrogate::petsc
