// SPDX-License-Identifier: Apache-2.0
#include "adjoint_solver.hpp"

namespace inverse {

using darcy::Box;
using darcy::Cells;
using darcy::CellsRead;

PetscErrorCode AdjointSolver::create(const darcy::Grid& grid) {
    PetscFunctionBegin;
    grid_ = &grid;
    PetscBool is_set = PETSC_FALSE;
    PetscCall(solver_.create(grid));
    PetscCall(PetscOptionsHasName(nullptr, nullptr, "-ksp_rtol", &is_set));
    if (!is_set) PetscCall(solver_.set_tolerance(1e-10));
    PetscCall(grid.new_vec(&lambda_));
    for (darcy::OwnedVec* vec : {&ghosted_a_, &ghosted_p_, &ghosted_lambda_})
        PetscCall(grid.new_ghosted(vec));
    PetscFunctionReturn(0);
}

PetscErrorCode AdjointSolver::pressure(Vec a, Vec p) {
    PetscFunctionBegin;
    PetscInt n_iteration = 0;
    PetscCall(solver_.solve(a, false, p, &n_iteration));
    PetscCall(grid_->fill_ghosts(a, ghosted_a_));
    PetscCall(grid_->fill_ghosts(p, ghosted_p_));
    PetscFunctionReturn(0);
}

PetscErrorCode AdjointSolver::gradient(Vec w, Vec g) {
    PetscFunctionBegin;
    PetscCall(solver_.solve_again(w, lambda_));
    PetscCall(grid_->fill_ghosts(lambda_, ghosted_lambda_));
    Box box;
    PetscCall(box.of(*grid_));
    const CellsRead a(*grid_, ghosted_a_), p(*grid_, ghosted_p_), lambda(*grid_, ghosted_lambda_);
    const Cells out(*grid_, g);
    for (PetscInt j = box.j0; j < box.j1; ++j)
        for (PetscInt i = box.i0; i < box.i1; ++i) {
            PetscReal sum = 0;  // of dT/da (difference of lambda) (difference of p) over the faces
            for (const darcy::Face& face : darcy::faces) {
                const PetscInt k = i + face.di, l = j + face.dj;
                if (!darcy::is_inside(*grid_, k, l)) {
                    sum += 2 * lambda(i, j) * p(i, j);
                    continue;
                }
                const PetscReal share = a(k, l) / (a(i, j) + a(k, l));
                sum += 2 * share * share * (lambda(i, j) - lambda(k, l)) * (p(i, j) - p(k, l));
            }
            out(i, j) = -sum;
        }
    PetscFunctionReturn(0);
}

}  // namespace inverse
