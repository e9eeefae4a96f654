// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <petsctao.h>

#include "forward.hpp"
#include "modes.hpp"
#include "sensors.hpp"

namespace inverse {

/// Result of one inversion.
struct Result {
    darcy::OwnedVec theta, a;
    PetscInt n_iteration = 0;
    PetscInt n_pressure = 0;  ///< pressures computed, without the adjoint solves and backward runs
    PetscLogDouble seconds = 0;
    PetscReal misfit = 0;  ///< of the readings to the method's own pressure
    TaoConvergedReason reason = TAO_CONTINUE_ITERATING;
};

/// Minimizes J(theta) = misfit + prior / 2 |theta|^2 by TAO. This is the most probable theta, if
/// noise and theta are normal as assumed and prior is 1 (Tikhonov's regularization, maximum a
/// posteriori).
class Inversion {
public:
    PetscErrorCode create(const darcy::Grid& grid, Modes* modes, const Sensors* sensors,
                          PetscReal prior);

    /// Minimizes from theta = `start`. by_differences: the gradient by central differences of J
    /// instead of forward.gradient. PETSc's options change all of it (-tao_type, -tao_gttol,
    /// -tao_monitor, -tao_test_gradient, ..). Collective.
    PetscErrorCode run(Forward* forward, bool by_differences, Vec start, Result* result);

    /// Sets the forward problem of `evaluate`, as `run` does.
    void use(Forward* forward) { forward_ = forward; }
    /// Computes J and, if gradient is not null, dJ/dtheta. Collective.
    PetscErrorCode evaluate(Vec theta, PetscReal* j, Vec gradient);

    /// Computes the misfit of a mobility with the pressure of `forward`. Collective.
    PetscErrorCode misfit_of(Forward* forward, Vec a, PetscReal* misfit);

private:
    Modes* modes_ = nullptr;
    const Sensors* sensors_ = nullptr;
    PetscReal prior_ = 1;
    Forward* forward_ = nullptr;
    PetscInt n_pressure_ = 0;
    darcy::OwnedVec a_, p_, w_, g_;  // mobility, pressure, dJ/dp, dJ/da
};

}  // namespace inverse
