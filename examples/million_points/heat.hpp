// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <petscksp.h>

#include "mesh.hpp"

namespace million {

/// Setting concrete: the heat that it produces, and its conductivity.
struct Concrete {
    PetscReal conductivity = 2.5;  // W/(m K)
    PetscReal heat = 1000;         // W/m^3
};

/// Solves for the steady temperature above the temperature of the water in the pipes, K, at the
/// points of `mesh`:
///   -div(conductivity grad T) = heat,   T = 0 where distance = 0,   no heat through the edges,
/// by linear finite elements. Conjugate gradients with algebraic multigrid run until the residual
/// is 1e-8 of the right-hand side; PETSc's options (-ksp_rtol, -pc_type, ..) change all of it.
/// Collective.
PetscErrorCode solve_heat(const Mesh& mesh, const Concrete& concrete, Vec temperature,
                          PetscInt* n_iteration);

}  // namespace million
