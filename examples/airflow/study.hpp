// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "potential_flow.hpp"
#include "predictor.hpp"
#include "surface.hpp"

namespace airflow {

/// Results for one body. Seconds are maxima over the ranks.
struct Result {
    int64_t seed = 0, n_point = 0;
    PetscInt n_iteration = 0;
    double seconds_solver = 0, seconds_plan = 0, seconds_surrogate = 0;
    bool is_compared = false;  ///< the following members are set
    /// L2 norm over the points, relative to the norm of the solver's coefficients
    double relative_error = 0;
    double largest_error = 0;
    /// Forces over dynamic pressure (m^2): minus the integral of coefficient times normal. x is
    /// drag, z is lift.
    Vector3 force_solver, force_surrogate;
    double fraction_outside = 0;  ///< of the points, with an input outside the training data
};

/// Runs one body at a time: its mesh, its flow, the surrogate's prediction.
class Study {
public:
    PetscErrorCode create(MPI_Comm comm, const std::string& model, double near = usual_near);

    /// Computes mesh and flow of the body of a seed; pressure() is then the solver's. Collective.
    PetscErrorCode solve(int64_t seed, int64_t n_point, int64_t n_panel, Result* result);
    /// Computes the surrogate's prediction for the same mesh, and its error; leaves both unset if
    /// the surrogate fails. Collective.
    PetscErrorCode compare(Result* result);
    /// Computes the pressure of the last solved flow on another mesh of the same body. Collective.
    PetscErrorCode sample(int64_t n_point);

    const Predictor& predictor() const { return predictor_; }
    const Surface& surface() const { return surface_; }
    Vec pressure() const { return pressure_; }
    Vec prediction() const { return prediction_; }
    Vec error() const { return error_; }
    const std::string& body_text() const { return body_text_; }

private:
    PetscErrorCode measure(Result* result);

    MPI_Comm comm_ = MPI_COMM_NULL;
    Body body_;
    std::string body_text_;
    PotentialFlow flow_;
    Surface surface_;
    Predictor predictor_;
    OwnedVec pressure_, prediction_, error_;
};

}  // namespace airflow
