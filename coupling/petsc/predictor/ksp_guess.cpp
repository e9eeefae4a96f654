// SPDX-License-Identifier: Apache-2.0
// KSPGuess type `surrogate`: a solve starts at the prediction if that reduces |b - A x|.
#include "ksp_guess.hpp"

#include <petsc/private/kspimpl.h>

#include "coupling/petsc/log_events.hpp"
#include "coupling/petsc/predictor/predictor.hpp"

namespace surrogate::petsc {

namespace {

constexpr const char* norm_name = "|b - A x|";

struct GuessData {
    Predictor predictor;
    Vec prediction = nullptr, residual = nullptr;
    PetscBool from_zero = PETSC_TRUE;  // setting of the program, which PETSc overwrites
    bool is_solving = false;
};

GuessData& data_of(KSPGuess guess) {
    return *static_cast<GuessData*>(guess->data);
}

PetscErrorCode free_vecs(GuessData* data) {
    PetscFunctionBegin;
    PetscCall(VecDestroy(&data->prediction));
    PetscCall(VecDestroy(&data->residual));
    PetscFunctionReturn(0);
}

PetscErrorCode residual_norm(KSPGuess guess, Mat matrix, Vec rhs, Vec x, PetscReal* norm) {
    PetscFunctionBegin;
    Vec residual = data_of(guess).residual;
    PetscCall(KSP_MatMult(guess->ksp, matrix, x, residual));
    PetscCall(VecAYPX(residual, -1, rhs));
    PetscCall(VecNorm(residual, NORM_2, norm));
    PetscFunctionReturn(0);
}

/// Checks that the KSP uses an initial guess and that the residual of the guess is known.
PetscErrorCode check_ksp(KSP ksp) {
    PetscFunctionBegin;
    PetscBool is_scaled = PETSC_FALSE, is_from_zero = PETSC_FALSE;
    PetscCall(KSPGetDiagonalScale(ksp, &is_scaled));
    PetscCheck(!is_scaled, PETSC_COMM_SELF, PETSC_ERR_SUP,
               "the KSP scales its matrix by the diagonal, and the right-hand side later: the "
               "residual of a guess is not known; leave out -ksp_diagonal_scale or "
               "-ksp_guess_type surrogate");
    PetscObject object = reinterpret_cast<PetscObject>(ksp);
    PetscCall(PetscObjectTypeCompareAny(object, &is_from_zero, KSPPREONLY, KSPQCG, KSPSTCG, KSPNASH,
                                        KSPGLTR, ""));
    KSPType type = nullptr;  // borrowed
    PetscCall(KSPGetType(ksp, &type));
    PetscCheck(!is_from_zero, PETSC_COMM_SELF, PETSC_ERR_SUP,
               "KSP type %s uses no initial guess; use another KSP type, or leave out "
               "-ksp_guess_type surrogate",
               type);
    PetscFunctionReturn(0);
}

/// Computes |b - A x| of the start. Needs one more product if the program sets its own start.
PetscErrorCode start_norm(KSPGuess guess, Mat matrix, Vec rhs, Vec x, PetscReal* norm) {
    PetscFunctionBegin;
    if (guess->ksp->guess_zero)
        PetscCall(VecNorm(rhs, NORM_2, norm));
    else
        PetscCall(residual_norm(guess, matrix, rhs, x, norm));
    PetscFunctionReturn(0);
}

PetscErrorCode predict(KSPGuess guess, Mat matrix, Vec rhs, Vec x, bool* is_made) {
    PetscFunctionBegin;
    GuessData& data = data_of(guess);
    if (!data.prediction) {
        PetscCall(VecDuplicate(x, &data.prediction));
        PetscCall(VecDuplicate(rhs, &data.residual));
    }
    if (guess->ksp->guess_zero)
        PetscCall(VecZeroEntries(data.prediction));
    else
        PetscCall(VecCopy(x, data.prediction));
    Problem problem;
    problem.solver = reinterpret_cast<PetscObject>(guess->ksp);
    problem.matrix = matrix;
    problem.rhs = rhs;
    problem.start = guess->ksp->guess_zero ? nullptr : x;
    problem.solution = data.prediction;
    PetscCall(find_dm(guess->ksp->dm, matrix, x, &problem));
    PetscCall(guess->ksp->transpose_solve ? MatGetTransposeNullSpace(matrix, &problem.null_space)
                                          : MatGetNullSpace(matrix, &problem.null_space));
    const AttemptResult unfit = attempt([&] { return check_ksp(guess->ksp); });
    PetscCall(data.predictor.predict(problem, unfit, is_made));
    PetscFunctionReturn(0);
}

PetscErrorCode form_guess(KSPGuess guess, Vec rhs, Vec x) {
    PetscFunctionBegin;
    GuessData& data = data_of(guess);
    Mat matrix = nullptr;  // borrowed
    bool is_made = false, is_better = false;
    PetscLogEvent event = 0;
    PetscCall(find_event("SurrGuess", &event));
    EventScope scope(event);
    data.from_zero = guess->ksp->guess_zero;
    data.is_solving = true;
    PetscCall(KSPGetOperators(guess->ksp, &matrix, nullptr));
    PetscCall(predict(guess, matrix, rhs, x, &is_made));
    if (is_made) {
        PetscReal before = 0, after = 0;
        PetscCall(start_norm(guess, matrix, rhs, x, &before));
        PetscCall(residual_norm(guess, matrix, rhs, data.prediction, &after));
        is_better = data.predictor.judge(before, after);
    }
    if (is_better)
        PetscCall(VecCopy(data.prediction, x));
    else if (!data.from_zero)  // KSPSolve starts at zero if the state of x has not changed
        PetscCall(PetscObjectStateIncrease(reinterpret_cast<PetscObject>(x)));
    PetscFunctionReturn(0);
}

/// Restores the setting of the program after the solve, for the next solve.
PetscErrorCode restore_start(KSPGuess guess) {
    PetscFunctionBegin;
    GuessData& data = data_of(guess);
    if (data.is_solving) guess->ksp->guess_zero = data.from_zero;
    data.is_solving = false;
    PetscFunctionReturn(0);
}

PetscErrorCode guess_form(KSPGuess guess, Vec rhs, Vec x) {
    return guarded([&] { return form_guess(guess, rhs, x); });
}

PetscErrorCode guess_update(KSPGuess guess, Vec, Vec) {
    return restore_start(guess);
}

PetscErrorCode guess_set_from_options(KSPGuess guess) {
    return guarded([&] {
        return data_of(guess).predictor.read_settings(reinterpret_cast<PetscObject>(guess->ksp));
    });
}

PetscErrorCode guess_view(KSPGuess guess, PetscViewer viewer) {
    PetscFunctionBegin;
    PetscCall(data_of(guess).predictor.view(viewer, norm_name));
    PetscFunctionReturn(0);
}

PetscErrorCode guess_reset(KSPGuess guess) {
    PetscFunctionBegin;
    PetscCall(data_of(guess).predictor.forget());
    PetscCall(free_vecs(&data_of(guess)));
    PetscFunctionReturn(0);
}

PetscErrorCode guess_destroy(KSPGuess guess) {
    PetscFunctionBegin;
    GuessData* const data = &data_of(guess);
    const MPI_Comm comm = PetscObjectComm(reinterpret_cast<PetscObject>(guess));
    PetscErrorCode error = data->predictor.view_at_end(comm, norm_name);
    if (!error) error = free_vecs(data);
    delete data;
    guess->data = nullptr;
    PetscCall(error);
    PetscFunctionReturn(0);
}

}  // namespace

PetscErrorCode create_ksp_guess(KSPGuess guess) {
    PetscFunctionBegin;
    PetscCall(guarded([&] {
        guess->data = new GuessData;
        return PetscErrorCode(0);
    }));
    guess->ops->formguess = guess_form;
    guess->ops->update = guess_update;
    guess->ops->setfromoptions = guess_set_from_options;
    guess->ops->view = guess_view;
    guess->ops->reset = guess_reset;
    guess->ops->destroy = guess_destroy;
    PetscFunctionReturn(0);
}

}  // namespace surrogate::petsc
