// SPDX-License-Identifier: Apache-2.0
#include "study.hpp"

#include "measure.hpp"

namespace airflow {

PetscErrorCode Study::create(MPI_Comm comm, const std::string& model, double near) {
    PetscFunctionBegin;
    comm_ = comm;
    flow_ = PotentialFlow(near);
    if (!model.empty()) PetscCall(predictor_.create(comm, model));
    PetscFunctionReturn(0);
}

PetscErrorCode Study::solve(int64_t seed, int64_t n_point, int64_t n_panel, Result* result) {
    PetscFunctionBegin;
    const CarShape car = random_car(uint64_t(seed));
    body_ = car_body(car);
    body_text_ = describe(car);
    result->seed = seed;
    const double begin = MPI_Wtime();
    PetscCall(flow_.solve(comm_, body_, BoxGrid::of_points(n_panel, body_.extent), {true, true}));
    PetscCall(sample(n_point));
    PetscCall(slowest_rank(comm_, MPI_Wtime() - begin, &result->seconds_solver));
    result->n_point = surface_.grid().n_point();
    result->n_iteration = flow_.n_iteration();
    PetscCall(force_of(surface_, pressure_, &result->force_solver));
    PetscFunctionReturn(0);
}

PetscErrorCode Study::sample(int64_t n_point) {
    PetscFunctionBegin;
    PetscCall(surface_.create(comm_, body_, n_point));
    PetscCall(surface_.new_field(&pressure_));
    PetscCall(evaluate_pressure(flow_, surface_, pressure_));
    PetscFunctionReturn(0);
}

PetscErrorCode Study::compare(Result* result) {
    PetscFunctionBegin;
    PetscCall(surface_.new_field(&prediction_));
    double begin = MPI_Wtime();
    PetscCall(predictor_.plan(surface_));
    PetscCall(slowest_rank(comm_, MPI_Wtime() - begin, &result->seconds_plan));
    if (!predictor_.is_ready()) PetscFunctionReturn(0);
    begin = MPI_Wtime();
    PetscCall(predictor_.predict(prediction_));
    PetscCall(slowest_rank(comm_, MPI_Wtime() - begin, &result->seconds_surrogate));
    if (!predictor_.is_ready()) PetscFunctionReturn(0);
    PetscCall(measure(result));
    PetscFunctionReturn(0);
}

PetscErrorCode Study::measure(Result* result) {
    PetscFunctionBegin;
    PetscReal largest = 0;
    PetscCall(predictor_.fraction_outside(&result->fraction_outside));
    PetscCall(surface_.new_field(&error_));
    PetscCall(VecWAXPY(error_, -1, pressure_, prediction_));
    PetscCall(VecNorm(error_, NORM_INFINITY, &largest));
    PetscCall(relative_distance(prediction_, pressure_, &result->relative_error));
    result->largest_error = largest;
    result->is_compared = true;
    PetscCall(force_of(surface_, prediction_, &result->force_surrogate));
    PetscFunctionReturn(0);
}

}  // namespace airflow
