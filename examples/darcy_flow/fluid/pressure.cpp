// SPDX-License-Identifier: Apache-2.0
#include "pressure.hpp"

namespace darcy {

PetscErrorCode PressureSolver::create_system(const Grid& grid) {
    PetscFunctionBegin;
    grid_ = &grid;
    PetscCall(DMCreateMatrix(grid.da, matrix_.out()));
    PetscCall(MatSetOption(matrix_, MAT_SPD, PETSC_TRUE));
    PetscCall(grid.new_vec(&rhs_));
    PetscCall(VecSet(rhs_, grid.h * grid.h));
    PetscCall(grid.new_ghosted(&ghosted_));
    PetscCall(KSPCreate(grid.comm(), ksp_.out()));
    PetscCall(KSPSetOperators(ksp_, matrix_, matrix_));
    PetscCall(KSPSetErrorIfNotConverged(ksp_, PETSC_TRUE));
    PetscFunctionReturn(0);
}

PetscErrorCode PressureSolver::create(const Grid& grid) {
    PetscFunctionBegin;
    PetscCall(create_system(grid));
    PetscCall(KSPSetType(ksp_, KSPCG));
    PetscCall(KSPSetNormType(ksp_, KSP_NORM_UNPRECONDITIONED));
    PC pc = nullptr;
    PetscCall(KSPGetPC(ksp_, &pc));
    PetscCall(PCSetType(pc, PCGAMG));
    PetscCall(set_tolerance(1e-8));
    PetscCall(KSPSetFromOptions(ksp_));
    PetscFunctionReturn(0);
}

PetscErrorCode PressureSolver::create_direct(const Grid& grid) {
    PetscFunctionBegin;
    PetscCall(create_system(grid));
    PetscCall(KSPSetType(ksp_, KSPPREONLY));
    PC pc = nullptr;
    PetscCall(KSPGetPC(ksp_, &pc));
    PetscCall(PCSetType(pc, PCCHOLESKY));
    PetscCall(PCFactorSetMatOrderingType(pc, MATORDERINGND));
    PetscFunctionReturn(0);
}

PetscErrorCode PressureSolver::set_tolerance(PetscReal rtol) {
    PetscFunctionBegin;
    PetscCall(KSPSetTolerances(ksp_, rtol, 0, PETSC_DEFAULT, PETSC_DEFAULT));
    PetscFunctionReturn(0);
}

PetscErrorCode PressureSolver::tolerance(PetscReal* rtol) const {
    PetscFunctionBegin;
    PetscCall(KSPGetTolerances(ksp_, rtol, nullptr, nullptr, nullptr));
    PetscFunctionReturn(0);
}

PetscErrorCode PressureSolver::set_row(const CellsRead& a, PetscInt i, PetscInt j) {
    PetscFunctionBegin;
    const MatStencil row = {0, j, i, 0};
    MatStencil columns[5] = {row};
    PetscScalar values[5] = {0};
    PetscInt n_column = 1;
    for (const Face& face : faces) {
        const PetscInt k = i + face.di, l = j + face.dj;
        if (!is_inside(*grid_, k, l)) {
            values[0] += edge_transmissibility(a(i, j));
            continue;
        }
        const PetscScalar t = transmissibility(a(i, j), a(k, l));
        values[0] += t;
        columns[n_column] = {0, l, k, 0};
        values[n_column++] = -t;
    }
    PetscCall(MatSetValuesStencil(matrix_, 1, &row, n_column, columns, values, INSERT_VALUES));
    PetscFunctionReturn(0);
}

PetscErrorCode PressureSolver::assemble(Vec mobility) {
    PetscFunctionBegin;
    PetscCall(grid_->fill_ghosts(mobility, ghosted_));
    Box box;
    PetscCall(box.of(*grid_));
    const CellsRead a(*grid_, ghosted_);
    for (PetscInt j = box.j0; j < box.j1; ++j)
        for (PetscInt i = box.i0; i < box.i1; ++i) PetscCall(set_row(a, i, j));
    PetscCall(MatAssemblyBegin(matrix_, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(matrix_, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(0);
}

PetscErrorCode PressureSolver::solve(Vec mobility, bool use_guess, Vec pressure,
                                     PetscInt* n_iteration) {
    PetscFunctionBegin;
    PetscCall(assemble(mobility));
    PetscCall(KSPSetOperators(ksp_, matrix_, matrix_));
    PetscCall(KSPSetInitialGuessNonzero(ksp_, use_guess ? PETSC_TRUE : PETSC_FALSE));
    PetscCall(KSPSolve(ksp_, rhs_, pressure));
    PetscCall(KSPGetIterationNumber(ksp_, n_iteration));
    PetscFunctionReturn(0);
}

PetscErrorCode PressureSolver::solve_again(Vec rhs, Vec solution) {
    PetscFunctionBegin;
    PetscCall(KSPSetInitialGuessNonzero(ksp_, PETSC_FALSE));
    PetscCall(KSPSolve(ksp_, rhs, solution));
    PetscFunctionReturn(0);
}

}  // namespace darcy
