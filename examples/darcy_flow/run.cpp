// SPDX-License-Identifier: Apache-2.0
#include "run.hpp"

#include <petsctime.h>

#include <algorithm>
#include <cmath>

#include "output.hpp"

namespace darcy {

namespace {

/// Adds the time between construction and the end of the scope to `total`.
class Stopwatch {
public:
    explicit Stopwatch(double* total) : total_(total) { std::ignore = PetscTime(&start_); }
    ~Stopwatch() {
        PetscLogDouble now = start_;
        std::ignore = PetscTime(&now);
        *total_ += now - start_;
    }
    Stopwatch(const Stopwatch&) = delete;
    Stopwatch& operator=(const Stopwatch&) = delete;

private:
    double* total_;
    PetscLogDouble start_ = 0;
};

void add(const TransportReport& step, Result* result) {
    result->injected += step.injected;
    result->left += step.left;
    result->clipped += step.clipped;
    result->imbalance = std::max(result->imbalance, step.imbalance);
}

}  // namespace

PetscReal Result::mass_error() const {
    return std::abs(left - injected) / injected;
}

PetscErrorCode FlowSolver::create(MPI_Comm comm, PetscInt n, const char* model) {
    PetscFunctionBegin;
    PetscCall(grid_.create(comm, n));
    PetscCall(pressure_.create(grid_));
    PetscCall(transport_.create(grid_));
    PetscCall(grid_.new_vec(&prediction_));
    if (model[0] == '\0') PetscFunctionReturn(0);
    PetscCall(surrogate_.create(grid_, model));
    if (!surrogate_.is_ready())
        PetscCall(PetscPrintf(comm,
                              "surrogate not available: %s\nThe solver continues without it.\n\n",
                              surrogate_.problem().c_str()));
    PetscFunctionReturn(0);
}

/// Computes the surrogate's pressure in prediction_. Otherwise sets *is_done false and prints the
/// reason (the first time in a run).
PetscErrorCode FlowSolver::ask_surrogate(PetscReal dt, Vec a, Result* result, bool* is_done) {
    PetscFunctionBegin;
    *is_done = false;
    if (surrogate_.is_ready()) {
        const Stopwatch watch(&result->seconds_surrogate);
        PetscCall(surrogate_.predict(dt, a, prediction_, is_done));
    }
    if (*is_done) PetscFunctionReturn(0);
    if (result->n_fallback == 0 && surrogate_.is_ready())
        PetscCall(PetscPrintf(grid_.comm(),
                              "step %" PetscInt_FMT
                              ": no prediction (%s); the solver computes the pressure\n",
                              result->n_step, surrogate_.problem().c_str()));
    ++result->n_fallback;
    PetscFunctionReturn(0);
}

/// Computes p, which holds the previous pressure on entry, 0 in the first step.
PetscErrorCode FlowSolver::find_pressure(const Way& way, PetscReal dt, Vec a, Vec p,
                                         Result* result) {
    PetscFunctionBegin;
    if (way.needs_surrogate()) {
        bool is_done = false;
        PetscCall(ask_surrogate(dt, a, result, &is_done));
        if (is_done) PetscCall(VecCopy(prediction_, p));
        if (is_done && way.surrogate_alone) PetscFunctionReturn(0);
    }
    PetscInt n_iteration = 0;
    const Stopwatch watch(&result->seconds_solver);
    PetscCall(pressure_.solve(a, way.guess != Guess::zero, p, &n_iteration));
    result->n_iteration += n_iteration;
    PetscFunctionReturn(0);
}

PetscErrorCode FlowSolver::run(const Way& way, Vec initial, PetscInt n_step, PetscReal dt,
                               Output* output, Result* result) {
    PetscFunctionBegin;
    *result = Result();
    result->way = &way;
    result->dt = dt;
    PetscCall(surrogate_.begin());
    OwnedVec a;
    PetscCall(grid_.new_vec(&a));
    PetscCall(grid_.new_vec(&result->c));
    PetscCall(grid_.new_vec(&result->p));
    PetscCall(VecCopy(initial, result->c));
    PetscCall(VecSet(result->p, 0));
    for (; result->n_step < n_step; ++result->n_step) {
        PetscCall(mobility_of(mobilities, result->c, a));
        PetscCall(find_pressure(way, dt, a, result->p, result));
        if (output) PetscCall(output->write(result->n_step * dt, result->c, a, result->p));
        TransportReport step;
        PetscCall(transport_.step(dt, a, result->p, way.surrogate_alone, result->c, &step));
        add(step, result);
    }
    PetscCall(share_times(result));
    if (way.needs_surrogate()) result->guards = surrogate_.report();
    if (output) {
        OwnedVec p;
        PetscCall(grid_.new_vec(&p));
        PetscCall(pressure_at_end(*result, a, p));
        PetscCall(output->write(result->n_step * dt, result->c, a, p));
    }
    PetscFunctionReturn(0);
}

PetscErrorCode FlowSolver::pressure_at_end(const Result& result, Vec a, Vec p) {
    PetscFunctionBegin;
    Result uncounted;
    uncounted.n_step = result.n_step;
    uncounted.n_fallback = result.n_fallback;
    PetscCall(mobility_of(mobilities, result.c, a));
    PetscCall(VecCopy(result.p, p));
    PetscCall(find_pressure(*result.way, result.dt, a, p, &uncounted));
    PetscFunctionReturn(0);
}

PetscErrorCode FlowSolver::share_times(Result* result) const {
    PetscFunctionBegin;
    double seconds[2] = {result->seconds_solver, result->seconds_surrogate};
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, seconds, 2, MPI_DOUBLE, MPI_MAX, grid_.comm()));
    result->seconds_solver = seconds[0];
    result->seconds_surrogate = seconds[1];
    PetscFunctionReturn(0);
}

}  // namespace darcy
