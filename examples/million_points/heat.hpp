// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <petscksp.h>

#include "mesh.hpp"

namespace million {

/// Concrete while it sets: heat that it makes, and that it conducts to the pipes.
struct Concrete {
    PetscReal conductivity = 2.5;  // W/(m K)
    PetscReal heat = 1000;         // W/m^3
};

/// Steady temperature above that of the water in the pipes, K, at the points of `mesh`:
///   -div(conductivity grad T) = heat,   T = 0 where distance = 0,   no heat through the edges,
/// by linear finite elements. Conjugate gradients with algebraic multigrid until the residual is
/// 1e-8 of the right-hand side; PETSc's options (-ksp_rtol, -pc_type, ..) change all of it.
/// Collective.
PetscErrorCode solve_heat(const Mesh& mesh, const Concrete& concrete, Vec temperature,
                          PetscInt* n_iteration);

}  // namespace million
