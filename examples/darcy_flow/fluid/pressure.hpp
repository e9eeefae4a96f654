// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <petscksp.h>

#include "grid.hpp"

namespace darcy {

/// Solves -div(a grad p) = 1 with p = 0 on the edges: for each cell, the outgoing fluxes sum to
/// h^2.
///
/// Conjugate gradients with algebraic multigrid run until the residual is 1e-8 of the right-hand
/// side; PETSc's options (-ksp_rtol, -pc_type, ..) change all of it. The true residual is tested,
/// so that a good initial guess reduces the iterations and the error does not depend on the initial
/// guess.
class PressureSolver {
public:
    PetscErrorCode create(const Grid& grid);
    /// Uses Cholesky factors instead of iterations, exact up to rounding, for all options: for
    /// grids on one rank.
    PetscErrorCode create_direct(const Grid& grid);
    /// Overrides -ksp_rtol.
    PetscErrorCode set_tolerance(PetscReal rtol);
    PetscErrorCode tolerance(PetscReal* rtol) const;

    /// Solves for the pressure. use_guess: start from the values in `pressure` instead of zero.
    PetscErrorCode solve(Vec mobility, bool use_guess, Vec pressure, PetscInt* n_iteration);

    /// Solves with the matrix and the preconditioner of the last solve, from zero. The matrix is
    /// symmetric, so this also solves the adjoint equation.
    PetscErrorCode solve_again(Vec rhs, Vec solution);

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
