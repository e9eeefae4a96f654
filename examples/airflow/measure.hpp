// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "potential_flow.hpp"
#include "surface.hpp"

namespace airflow {

/// Computes the pressure coefficient, 1 - v^2, of a solved flow at the points of a surface. `field`
/// comes from surface.new_field(). Local.
PetscErrorCode evaluate_pressure(const PotentialFlow& flow, const Surface& surface, Vec field);

/// Computes |field - reference| / |reference| in the L2 norm over the points. Collective.
PetscErrorCode relative_distance(Vec field, Vec reference, double* distance);

/// Computes the force of a pressure coefficient on a surface over the dynamic pressure (m^2): x is
/// drag, z is lift. Collective.
PetscErrorCode force_of(const Surface& surface, Vec coefficient, Vector3* force);

/// Returns the processor time that this rank has used, of all its threads.
double processor_seconds();

/// Returns the largest `seconds` over the ranks. Collective.
PetscErrorCode slowest_rank(MPI_Comm comm, double seconds, double* slowest);

}  // namespace airflow
