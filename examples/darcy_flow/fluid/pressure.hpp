// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <petscksp.h>

#include "grid.hpp"

namespace darcy {

/// -div(a grad p) = 1 with p = 0 on the edges: for each cell, the fluxes out of it sum to h^2.
///
/// Conjugate gradients with algebraic multigrid, until the residual is 1e-8 of the right-hand side;
/// PETSc's options (-ksp_rtol, -pc_type, ..) change all of it. The residual is the true one, so
/// that a good initial guess counts and the error does not depend on where the iteration started.
class PressureSolver {
public:
    PetscErrorCode create(const Grid& grid);
    /// Cholesky factors instead of iterations, to rounding, whatever the options say: for grids on
    /// one rank.
    PetscErrorCode create_direct(const Grid& grid);
    /// Overrides -ksp_rtol.
    PetscErrorCode set_tolerance(PetscReal rtol);
    PetscErrorCode tolerance(PetscReal* rtol) const;

    /// use_guess: start from the values in `pressure` instead of zero.
    PetscErrorCode solve(Vec mobility, bool use_guess, Vec pressure, PetscInt* n_iteration);

private:
    PetscErrorCode create_system(const Grid& grid);
    PetscErrorCode assemble(Vec mobility);
    PetscErrorCode set_row(const CellsRead& a, PetscInt i, PetscInt j);

    const Grid* grid_ = nullptr;
    Owner<Mat, MatDestroy> matrix_;
    Owner<KSP, KSPDestroy> ksp_;
    OwnedVec rhs_, ghosted_;
};

}  // namespace darcy
