// SPDX-License-Identifier: Apache-2.0
#include "inversion.hpp"

#include <petsctime.h>

namespace inverse {

namespace {

PetscErrorCode objective_and_gradient(Tao /*tao*/, Vec theta, PetscReal* j, Vec gradient,
                                      void* inversion) {
    return static_cast<Inversion*>(inversion)->evaluate(theta, j, gradient);
}

PetscErrorCode objective(Tao /*tao*/, Vec theta, PetscReal* j, void* inversion) {
    return static_cast<Inversion*>(inversion)->evaluate(theta, j, nullptr);
}

}  // namespace

PetscErrorCode Inversion::create(const darcy::Grid& grid, Modes* modes, const Sensors* sensors,
                                 PetscReal prior) {
    PetscFunctionBegin;
    modes_ = modes;
    sensors_ = sensors;
    prior_ = prior;
    for (darcy::OwnedVec* vec : {&a_, &p_, &w_, &g_}) PetscCall(grid.new_vec(vec));
    PetscFunctionReturn(0);
}

PetscErrorCode Inversion::evaluate(Vec theta, PetscReal* j, Vec gradient) {
    PetscFunctionBegin;
    PetscReal square = 0;
    PetscCall(modes_->mobility(theta, a_));
    PetscCall(forward_->pressure(a_, p_));
    PetscCall(sensors_->misfit(p_, j, w_));
    PetscCall(VecDot(theta, theta, &square));
    *j += prior_ / 2 * square;
    ++n_pressure_;
    if (!gradient) PetscFunctionReturn(0);
    PetscCall(forward_->gradient(w_, g_));
    PetscCall(modes_->pull_back(g_, gradient));
    PetscCall(VecAXPY(gradient, prior_, theta));
    PetscFunctionReturn(0);
}

PetscErrorCode Inversion::run(Forward* forward, bool by_differences, Vec start, Result* result) {
    PetscFunctionBegin;
    forward_ = forward;
    n_pressure_ = 0;
    darcy::Owner<Tao, TaoDestroy> tao;
    PetscCall(VecDuplicate(start, result->theta.out()));
    PetscCall(VecCopy(start, result->theta));
    PetscCall(TaoCreate(PetscObjectComm(reinterpret_cast<PetscObject>(start)), tao.out()));
    // The limited-memory quasi-Newton method whose first steps are short: far from theta = 0 the
    // mobility hardly depends on theta. |dJ/dtheta| / J of 0.01 is above the noise of single
    // precision in the surrogate.
    PetscCall(TaoSetType(tao, TAOBLMVM));
    PetscCall(TaoSetTolerances(tao, 0, 1e-2, 0));
    PetscCall(TaoSetMaximumIterations(tao, 300));
    PetscCall(TaoSetMaximumFunctionEvaluations(tao, 100000));
    PetscCall(TaoSetSolution(tao, result->theta));
    PetscCall(TaoSetObjective(tao, objective, this));
    if (by_differences)
        PetscCall(TaoSetGradient(tao, nullptr, TaoDefaultComputeGradient, nullptr));
    else
        PetscCall(TaoSetObjectiveAndGradient(tao, nullptr, objective_and_gradient, this));
    // Differences, here and in -tao_test_gradient, need a step above the solver's tolerance.
    PetscBool is_set = PETSC_FALSE;
    PetscCall(PetscOptionsHasName(nullptr, nullptr, "-tao_fd_delta", &is_set));
    if (!is_set) PetscCall(PetscOptionsSetValue(nullptr, "-tao_fd_delta", "1e-4"));
    PetscCall(TaoSetFromOptions(tao));

    PetscLogDouble begin = 0, end = 0;
    PetscCall(PetscTime(&begin));
    PetscCall(TaoSolve(tao));
    PetscCall(PetscTime(&end));

    result->seconds += end - begin;
    result->n_pressure = n_pressure_;
    PetscCall(TaoGetIterationNumber(tao, &result->n_iteration));
    PetscCall(TaoGetConvergedReason(tao, &result->reason));
    PetscCall(VecDuplicate(a_, result->a.out()));
    PetscCall(modes_->mobility(result->theta, result->a));
    PetscCall(misfit_of(forward, result->a, &result->misfit));
    PetscFunctionReturn(0);
}

PetscErrorCode Inversion::misfit_of(Forward* forward, Vec a, PetscReal* misfit) {
    PetscFunctionBegin;
    PetscCall(forward->pressure(a, p_));
    PetscCall(sensors_->misfit(p_, misfit, w_));
    PetscFunctionReturn(0);
}

}  // namespace inverse
