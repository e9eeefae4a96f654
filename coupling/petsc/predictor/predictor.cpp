// SPDX-License-Identifier: Apache-2.0
#include "predictor.hpp"

#include <array>

#include "coupling/petsc/predictor/null_space.hpp"

namespace surrogate::petsc {

namespace {

/// Returns the counter of an error, by the status of the run.
Refusal refusal_of(PetscErrorCode error) {
    switch (error) {
        case PETSC_ERR_FP: return Refusal::not_finite;
        case PETSC_ERR_ARG_OUTOFRANGE: return Refusal::out_of_range;
        default: return Refusal::failed;
    }
}

/// Raises the error of a failed MPI call. A solver that continues without the surrogate could
/// deadlock with ranks that wait in the call.
PetscErrorCode require_communication(const AttemptResult& outcome) {
    PetscFunctionBegin;
    PetscCheck(outcome.error != PETSC_ERR_MPI, PETSC_COMM_SELF, outcome.error, "%s",
               outcome.text.c_str());
    PetscFunctionReturn(0);
}

}  // namespace

Predictor::~Predictor() {
    surrogate_plan_destroy(&plan_);
    surrogate_model_destroy(&model_);
    surrogate_context_destroy(&context_);
}

PetscErrorCode Predictor::read_settings(PetscObject solver) {
    PetscFunctionBegin;
    const char* prefix = nullptr;
    PetscCall(PetscObjectGetOptionsPrefix(solver, &prefix));
    PetscCall(settings_.read(PetscObjectComm(solver), prefix));
    has_settings_ = true;
    PetscFunctionReturn(0);
}

PetscErrorCode Predictor::predict(const Problem& problem, const AttemptResult& unfit,
                                  bool* is_made) {
    PetscFunctionBegin;
    *is_made = false;
    ++counters_.asked;
    if (is_given_up_) {
        counters_.refuse(Refusal::failed);
        PetscFunctionReturn(0);
    }
    if (!has_settings_) PetscCall(read_settings(problem.solver));
    if (const AttemptResult ready = unfit ? prepare(problem) : unfit; !ready) {
        PetscCall(fields_.close());
        PetscCall(give_up(problem, ready));
        PetscFunctionReturn(0);
    }
    PetscCall(run(problem, is_made));
    PetscCall(fields_.close());
    PetscFunctionReturn(0);
}

/// Prepares model, plan and Vecs. The steps are collective and fail on all ranks together; errors
/// of one rank are exchanged at the end.
AttemptResult Predictor::prepare(const Problem& problem) {
    const AttemptResult opened =
        attempt([&] { return model_ ? PetscErrorCode(0) : open_model(problem); });
    if (!opened) return opened;
    const AttemptResult planned =
        agree(context_, attempt([&] { return follow_unknowns(problem); }));
    if (!planned) return planned;
    return agree(context_, attempt([&] { return fields_.open(model_, settings_, problem); }));
}

PetscErrorCode Predictor::open_model(const Problem& problem) {
    PetscFunctionBegin;
    PetscCheck(!settings_.model.empty(), PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE,
               "the surrogate has no model file; name it: %s FILE",
               settings_.flag("model").c_str());
    const char* const prefix = settings_.prefix.empty() ? nullptr : settings_.prefix.c_str();
    if (!context_) PetscCall(surrogate_context_create_petsc(problem.comm(), prefix, &context_));
    PetscCall(surrogate_model_load_petsc(context_, settings_.model.c_str(), &model_));
    PetscFunctionReturn(0);
}

/// Creates a new plan at the first call, and after the unknowns of any rank have moved.
PetscErrorCode Predictor::follow_unknowns(const Problem& problem) {
    PetscFunctionBegin;
    DomainStamp now;
    PetscCall(stamp_of(problem, &now));
    int has_moved = !plan_ || !(now == stamp_);
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &has_moved, 1, MPI_INT, MPI_MAX, problem.comm()));
    if (!has_moved) PetscFunctionReturn(0);
    PetscCall(forget());
    PetscCall(make_plan(problem));
    PetscCall(stamp_of(problem, &stamp_));
    PetscFunctionReturn(0);
}

PetscErrorCode Predictor::make_plan(const Problem& problem) {
    PetscFunctionBegin;
    surrogate_domain* domain = nullptr;
    PetscErrorCode error = create_problem_domain(context_, problem, settings_, &domain);
    if (!error) error = surrogate_plan_create_petsc(model_, domain, nullptr, &plan_);
    surrogate_domain_destroy(&domain);
    PetscCall(error);
    PetscFunctionReturn(0);
}

PetscErrorCode Predictor::forget() {
    PetscFunctionBegin;
    surrogate_plan_destroy(&plan_);
    PetscCall(fields_.reset());
    PetscFunctionReturn(0);
}

PetscErrorCode Predictor::give_up(const Problem& problem, const AttemptResult& outcome) {
    PetscFunctionBegin;
    PetscCall(require_communication(outcome));
    PetscCheck(settings_.is_optional, problem.comm(), outcome.error, "%s", outcome.text.c_str());
    is_given_up_ = true;
    counters_.refuse(Refusal::failed);
    counters_.last_failure = outcome.text;
    PetscCall(PetscFPrintf(problem.comm(), PETSC_STDERR,
                           "surrogate: not used, the %s goes on without it: %s\n", problem.kind(),
                           outcome.text.c_str()));
    PetscFunctionReturn(0);
}

PetscErrorCode Predictor::run(const Problem& problem, bool* is_made) {
    PetscFunctionBegin;
    const AttemptResult made = agree(context_, attempt([&] { return fields_.run(plan_); }));
    PetscCall(require_communication(made));
    *is_made = bool(made);
    if (!made) {
        counters_.refuse(refusal_of(made.error));
        counters_.last_failure = made.text;
        PetscCall(
            PetscInfo(problem.solver, "surrogate: prediction failed: %s\n", made.text.c_str()));
        PetscFunctionReturn(0);
    }
    PetscCall(remove_null_space(problem, problem.solution));
    PetscFunctionReturn(0);
}

PetscErrorCode Predictor::view(PetscViewer viewer, const char* norm) const {
    PetscFunctionBegin;
    PetscBool is_text = PETSC_FALSE;
    PetscCall(
        PetscObjectTypeCompare(reinterpret_cast<PetscObject>(viewer), PETSCVIEWERASCII, &is_text));
    if (!is_text) PetscFunctionReturn(0);
    std::array<char, 64> family{};
    int64_t size = int64_t(family.size());
    if (model_) PetscCallSurrogate(surrogate_model_family(model_, family.data(), &size));
    PetscCall(PetscViewerASCIIPrintf(viewer, "surrogate: model %s%s%s\n",
                                     settings_.model.empty() ? "(none)" : settings_.model.c_str(),
                                     model_ ? ", family " : ", not loaded", family.data()));
    PetscCall(PetscViewerASCIIPushTab(viewer));
    PetscCall(counters_.view(viewer, norm));
    PetscCall(PetscViewerASCIIPopTab(viewer));
    PetscFunctionReturn(0);
}

PetscErrorCode Predictor::view_at_end(MPI_Comm comm, const char* norm) const {
    PetscFunctionBegin;
    if (!settings_.is_viewed) PetscFunctionReturn(0);
    PetscViewer viewer = nullptr;  // borrowed
    PetscCall(PetscViewerASCIIGetStdout(comm, &viewer));
    PetscCall(view(viewer, norm));
    PetscCall(PetscViewerFlush(viewer));
    PetscFunctionReturn(0);
}

}  // namespace surrogate::petsc
