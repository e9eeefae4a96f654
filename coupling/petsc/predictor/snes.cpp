// SPDX-License-Identifier: Apache-2.0
// SNES type `surrogate`: a step to the prediction if that reduces |F|, then a solve from there if
// the SNES has a nonlinear preconditioner.
#include "snes.hpp"

#include <petsc/private/snesimpl.h>

#include <algorithm>

#include "coupling/petsc/log_events.hpp"
#include "coupling/petsc/predictor/predictor.hpp"

namespace surrogate::petsc {

namespace {

constexpr const char* norm_name = "|F|";

Predictor& predictor_of(SNES snes) {
    return *static_cast<Predictor*>(snes->data);
}

/// Returns a work vector of SNESSetWorkVecs.
Vec prediction_of(SNES snes) {
    return snes->work[0];
}
Vec function_of_prediction(SNES snes) {
    return snes->work[1];
}
Vec start_of(SNES snes) {
    return snes->work[2];
}

PetscErrorCode predict(SNES snes, bool* is_made) {
    PetscFunctionBegin;
    PetscCall(VecCopy(snes->vec_sol, prediction_of(snes)));
    Problem problem;
    problem.solver = reinterpret_cast<PetscObject>(snes);
    problem.rhs = snes->vec_rhs;
    problem.start = snes->vec_sol;
    problem.solution = prediction_of(snes);
    PetscCall(find_dm(snes->dm, snes->jacobian, snes->vec_sol, &problem));
    if (snes->jacobian) PetscCall(MatGetNullSpace(snes->jacobian, &problem.null_space));
    PetscCall(predictor_of(snes).predict(problem, {}, is_made));
    PetscFunctionReturn(0);
}

/// Steps to the prediction if its |F| is smaller than *norm, and sets *norm to it.
PetscErrorCode step(SNES snes, PetscReal* norm, bool* is_used) {
    PetscFunctionBegin;
    bool is_made = false;
    *is_used = false;
    PetscReal after = 0;
    PetscLogEvent event = 0;
    PetscCall(find_event("SurrGuess", &event));
    EventScope scope(event);
    PetscCall(predict(snes, &is_made));
    if (!is_made) PetscFunctionReturn(0);
    PetscCall(SNESComputeFunction(snes, prediction_of(snes), function_of_prediction(snes)));
    PetscCall(VecNorm(function_of_prediction(snes), NORM_2, &after));
    *is_used = predictor_of(snes).judge(*norm, after);
    if (*is_used) {
        if (snes->npc) PetscCall(VecCopy(snes->vec_sol, start_of(snes)));
        PetscCall(VecCopy(prediction_of(snes), snes->vec_sol));
        PetscCall(VecCopy(function_of_prediction(snes), snes->vec_func));
        *norm = after;
    }
    snes->domainerror = PETSC_FALSE;  // the domain error belonged to a rejected prediction
    PetscFunctionReturn(0);
}

PetscErrorCode record(SNES snes, PetscInt iteration, PetscReal norm) {
    PetscFunctionBegin;
    snes->iter = iteration;
    snes->norm = norm;
    PetscCall(SNESLogConvergenceHistory(snes, norm, 0));
    PetscCall(SNESMonitor(snes, iteration, norm));
    PetscFunctionReturn(0);
}

/// Solves once from vec_sol with the nonlinear preconditioner, whose result becomes the result of
/// the SNES.
/// @param start_norm  |F| of the original start: the relative tolerance refers to it, not to the
///                    smaller |F| of a prediction; 0 if vec_sol is the start
PetscErrorCode solve_behind(SNES snes, PetscReal start_norm) {
    PetscFunctionBegin;
    SNES const npc = snes->npc;
    const PetscReal own = npc->abstol;
    PetscCall(SNESSetTolerances(npc, std::max(own, npc->rtol * start_norm), PETSC_DEFAULT,
                                PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
    PetscCall(SNESSolve(npc, snes->vec_rhs, snes->vec_sol));
    PetscCall(
        SNESSetTolerances(npc, own, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
    snes->reason = npc->reason;
    if (npc->reason == SNES_CONVERGED_FNORM_ABS && npc->norm > own)
        snes->reason = SNES_CONVERGED_FNORM_RELATIVE;
    snes->iter += npc->iter;
    snes->linear_its += npc->linear_its;
    snes->nfuncs += npc->nfuncs;
    PetscFunctionReturn(0);
}

/// Solves from the prediction, or from the start if no prediction is used. A solve that fails from
/// a prediction is repeated once from the start.
/// @param start_norm  |F| of the start
PetscErrorCode go_on(SNES snes, bool is_from_prediction, PetscReal start_norm) {
    PetscFunctionBegin;
    snes->iter = is_from_prediction ? 1 : 0;  // a rejected prediction is not a step
    PetscCall(solve_behind(snes, is_from_prediction ? start_norm : 0));
    if (snes->reason < 0 && is_from_prediction) {
        predictor_of(snes).count_repeated();
        PetscCall(PetscInfo(snes, "surrogate: %s from the prediction, repeated from the start\n",
                            SNESConvergedReasons[snes->reason]));
        PetscCall(VecCopy(start_of(snes), snes->vec_sol));
        PetscCall(solve_behind(snes, 0));
    }
    PetscCall(SNESComputeFunction(snes, snes->vec_sol, snes->vec_func));
    PetscCall(VecNorm(snes->vec_func, NORM_2, &snes->norm));
    snes->domainerror = PETSC_FALSE;  // the nonlinear preconditioner has reported it
    PetscFunctionReturn(0);
}

PetscErrorCode solve(SNES snes) {
    PetscFunctionBegin;
    PetscReal norm = 0;
    bool is_used = false;
    snes->reason = SNES_CONVERGED_ITERATING;
    if (snes->vec_func_init_set)
        snes->vec_func_init_set = PETSC_FALSE;
    else
        PetscCall(SNESComputeFunction(snes, snes->vec_sol, snes->vec_func));
    PetscCall(VecNorm(snes->vec_func, NORM_2, &norm));
    SNESCheckFunctionNorm(snes, norm);
    PetscCall(record(snes, 0, norm));
    PetscUseTypeMethod(snes, converged, 0, 0, 0, norm, &snes->reason, snes->cnvP);
    if (snes->reason) PetscFunctionReturn(0);
    const PetscReal start_norm = norm;
    PetscCall(step(snes, &norm, &is_used));
    PetscCall(record(snes, 1, norm));
    // Norms of 0, so that an unused prediction does not count as convergence by a small step.
    PetscUseTypeMethod(snes, converged, 1, 0, 0, norm, &snes->reason, snes->cnvP);
    if (!snes->reason && snes->npc) {
        PetscCall(go_on(snes, is_used, start_norm));
        PetscFunctionReturn(0);
    }
    if (!snes->reason) snes->reason = SNES_DIVERGED_MAX_IT;
    PetscFunctionReturn(0);
}

PetscErrorCode snes_solve(SNES snes) {
    return guarded([&] { return solve(snes); });
}

PetscErrorCode snes_set_up(SNES snes) {
    PetscFunctionBegin;
    PetscCall(SNESSetWorkVecs(snes, 3));
    if (!snes->npc) PetscFunctionReturn(0);
    // PETSc sets a nonlinear preconditioner to one step. Here it solves with the tolerances of the
    // SNES, or with tolerances under its own prefix.
    PetscCall(SNESSetTolerances(snes->npc, snes->abstol, snes->rtol, snes->stol, snes->max_its,
                                snes->max_funcs));
    PetscCall(SNESSetNormSchedule(snes->npc, SNES_NORM_ALWAYS));
    PetscCall(SNESSetFromOptions(snes->npc));
    PetscFunctionReturn(0);
}

PetscErrorCode snes_set_from_options(SNES snes, PetscOptionItems*) {
    return guarded(
        [&] { return predictor_of(snes).read_settings(reinterpret_cast<PetscObject>(snes)); });
}

PetscErrorCode snes_view(SNES snes, PetscViewer viewer) {
    PetscFunctionBegin;
    PetscCall(predictor_of(snes).view(viewer, norm_name));
    PetscFunctionReturn(0);
}

PetscErrorCode snes_reset(SNES snes) {
    return predictor_of(snes).forget();
}

PetscErrorCode snes_destroy(SNES snes) {
    PetscFunctionBegin;
    Predictor* const predictor = &predictor_of(snes);
    const MPI_Comm comm = PetscObjectComm(reinterpret_cast<PetscObject>(snes));
    const PetscErrorCode error = predictor->view_at_end(comm, norm_name);
    delete predictor;
    snes->data = nullptr;
    PetscCall(error);
    PetscFunctionReturn(0);
}

}  // namespace

PetscErrorCode create_snes(SNES snes) {
    PetscFunctionBegin;
    PetscCall(guarded([&] {
        snes->data = new Predictor;
        return PetscErrorCode(0);
    }));
    snes->usesksp = PETSC_FALSE;
    snes->usesnpc = PETSC_TRUE;
    snes->alwayscomputesfinalresidual = PETSC_TRUE;
    snes->ops->setup = snes_set_up;
    snes->ops->solve = snes_solve;
    snes->ops->setfromoptions = snes_set_from_options;
    snes->ops->view = snes_view;
    snes->ops->reset = snes_reset;
    snes->ops->destroy = snes_destroy;
    PetscFunctionReturn(0);
}

}  // namespace surrogate::petsc
