// SPDX-License-Identifier: Apache-2.0
#include "grid.hpp"

namespace darcy {

PetscErrorCode Grid::create(MPI_Comm comm, PetscInt n_cell, bool in_rows) {
    PetscFunctionBegin;
    PetscCheck(n_cell >= 2, comm, PETSC_ERR_USER_INPUT, "-n %" PetscInt_FMT ": at least 2 cells",
               n_cell);
    n = n_cell;
    h = PetscReal(1) / n;
    PetscCall(DMDACreate2d(comm, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, n, n,
                           in_rows ? 1 : PETSC_DECIDE, PETSC_DECIDE, 1, 1, nullptr, nullptr,
                           da.out()));
    PetscCall(DMSetUp(da));
    PetscCall(DMDASetUniformCoordinates(da, h / 2, 1 - h / 2, h / 2, 1 - h / 2, 0, 0));
    PetscFunctionReturn(0);
}

PetscErrorCode Grid::new_vec(OwnedVec* vec) const {
    PetscFunctionBegin;
    PetscCall(DMCreateGlobalVector(da, vec->out()));
    PetscFunctionReturn(0);
}

PetscErrorCode Grid::new_ghosted(OwnedVec* vec) const {
    PetscFunctionBegin;
    PetscCall(DMCreateLocalVector(da, vec->out()));
    PetscFunctionReturn(0);
}

PetscErrorCode Grid::fill_ghosts(Vec from, Vec ghosted) const {
    PetscFunctionBegin;
    PetscCall(DMGlobalToLocal(da, from, INSERT_VALUES, ghosted));
    PetscFunctionReturn(0);
}

PetscErrorCode Box::of(const Grid& grid) {
    PetscFunctionBegin;
    PetscInt n_i = 0, n_j = 0;
    PetscCall(DMDAGetCorners(grid.da, &i0, &j0, nullptr, &n_i, &n_j, nullptr));
    i1 = i0 + n_i;
    j1 = j0 + n_j;
    PetscFunctionReturn(0);
}

PetscErrorCode mobility_of(const Mobilities& mobilities, Vec c, Vec a) {
    PetscFunctionBegin;
    PetscCall(VecSet(a, mobilities.resident));
    PetscCall(VecAXPY(a, mobilities.injected - mobilities.resident, c));
    PetscFunctionReturn(0);
}

}  // namespace darcy
