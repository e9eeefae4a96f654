// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fluid/pressure.hpp>

#include "forward.hpp"

namespace inverse {

/// The solver of darcy_flow with its discrete adjoint. The equations are A(a) p = b with a
/// symmetric A, hence g = -lambda^T (dA/da) p with A lambda = w: one more solve with the same
/// matrix and preconditioner.
class AdjointSolver : public Forward {
public:
    /// Solves to 1e-10 of the right-hand side, unless PETSc's options say otherwise.
    PetscErrorCode create(const darcy::Grid& grid);
    PetscErrorCode pressure(Vec a, Vec p) override;
    PetscErrorCode gradient(Vec w, Vec g) override;

private:
    const darcy::Grid* grid_ = nullptr;
    darcy::PressureSolver solver_;
    darcy::OwnedVec lambda_, ghosted_a_, ghosted_p_, ghosted_lambda_;
};

}  // namespace inverse
