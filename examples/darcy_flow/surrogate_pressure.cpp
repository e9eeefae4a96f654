// SPDX-License-Identifier: Apache-2.0
#include "surrogate_pressure.hpp"

#include <surrogate/surrogate_petsc.h>

namespace darcy {

/// Runs `work` without PETSc printing its error; sets *is_done if it succeeded on all ranks.
/// Otherwise problem_ is the error of the first rank that failed. A failed MPI call is returned,
/// because other ranks may wait in it.
PetscErrorCode SurrogatePressure::attempt(const std::function<PetscErrorCode()>& work,
                                          bool* is_done) {
    PetscFunctionBegin;
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, nullptr));
    const PetscErrorCode error = work();
    PetscCall(PetscPopErrorHandler());
    if (error) {
        const char* kind = nullptr;
        char* text = nullptr;
        PetscCall(PetscErrorMessage(error, &kind, &text));
        problem_ = text ? text : "unknown error";
    }
    PetscCheck(error != PETSC_ERR_MPI, PETSC_COMM_SELF, error, "%s", problem_.c_str());
    *is_done = !error;
    if (!context_) PetscFunctionReturn(0);  // the context could not be created, on any rank
    const surrogate_status status = surrogate_context_agree(
        context_.get(), error ? SURROGATE_INVALID_ARGUMENT : SURROGATE_SUCCESS, problem_.c_str());
    *is_done = status == SURROGATE_SUCCESS;
    if (!*is_done) problem_ = surrogate_error(context_.get());
    const PetscErrorCode code = surrogate_petsc_error_code(status);
    PetscCheck(code != PETSC_ERR_MPI, PETSC_COMM_SELF, code, "%s", problem_.c_str());
    PetscFunctionReturn(0);
}

PetscErrorCode SurrogatePressure::plan(const Grid& grid, const char* path) {
    PetscFunctionBegin;
    surrogate_context* context = nullptr;
    PetscCall(surrogate_context_create_petsc(comm_, nullptr, &context));
    context_.reset(context);
    surrogate_model* model = nullptr;
    PetscCall(surrogate_model_load_petsc(context, path, &model));
    model_.reset(model);
    surrogate_domain* domain = nullptr;
    PetscCall(surrogate_domain_create_dm(context, grid.da, &domain));
    domain_.reset(domain);
    surrogate_plan* plan = nullptr;
    PetscCall(surrogate_plan_create_petsc(model, domain, nullptr, &plan));
    plan_.reset(plan);
    PetscCall(new_loop());
    PetscFunctionReturn(0);
}

/// Sets the limits of the loop. A hundredth of the cells may be out of range, for c that overshoots
/// by rounding. The allowed distance of a state from the training states is one and a half times
/// the distance that one in a hundred of these exceeds.
PetscErrorCode SurrogatePressure::new_loop() {
    PetscFunctionBegin;
    constexpr const char* settings[][2] = {{"range", "fallback"},    {"range_max_fraction", "0.01"},
                                           {"distance", "fallback"}, {"distance_factor", "1.5"},
                                           {"finite", "fallback"},   {"bounds", "fallback"}};
    loop_.reset();
    surrogate_timeloop* loop = nullptr;
    PetscCallSurrogate(surrogate_timeloop_create(plan_.get(), &loop));
    loop_.reset(loop);
    for (const auto& [key, value] : settings)
        PetscCallSurrogate(surrogate_timeloop_set(loop, key, value));
    PetscFunctionReturn(0);
}

PetscErrorCode SurrogatePressure::begin() {
    PetscFunctionBegin;
    if (is_ready()) PetscCall(new_loop());
    PetscFunctionReturn(0);
}

PetscErrorCode SurrogatePressure::create(const Grid& grid, const char* path) {
    PetscFunctionBegin;
    comm_ = grid.comm();
    bool is_done = false;
    PetscCall(attempt([&] { return plan(grid, path); }, &is_done));
    if (!is_done) plan_.reset();
    PetscFunctionReturn(0);
}

namespace {

/// Returns the text that copy(loop, text, n_text) writes.
std::string text_of(const surrogate_timeloop* loop,
                    surrogate_status (*copy)(const surrogate_timeloop*, char*, int64_t*)) {
    int64_t size = 0;
    if (!loop || copy(loop, nullptr, &size) != SURROGATE_SUCCESS) return "";
    std::string text(static_cast<std::size_t>(size), '\0');
    if (copy(loop, text.data(), &size) != SURROGATE_SUCCESS) return "";
    return text.substr(0, text.find_last_not_of(std::string("\n\0", 2)) + 1);
}

}  // namespace

PetscErrorCode SurrogatePressure::step(PetscReal dt_s, Vec mobility, Vec pressure,
                                       int32_t* outcome) {
    PetscFunctionBegin;
    const surrogate_vec_field in = {"mobility", "m^2/(Pa s)", mobility, 0, 0};
    const surrogate_vec_field out = {"pressure", "Pa", pressure, 0, 0};
    PetscCall(surrogate_timeloop_step_vec(loop_.get(), dt_s, 1, &in, 1, &out, outcome));
    // The solver computes the step.
    if (*outcome == SURROGATE_STEP_REJECTED)
        PetscCallSurrogate(surrogate_timeloop_advance(loop_.get(), dt_s));
    PetscFunctionReturn(0);
}

PetscErrorCode SurrogatePressure::predict(PetscReal dt_s, Vec mobility, Vec pressure,
                                          bool* is_done) {
    PetscFunctionBegin;
    int32_t outcome = SURROGATE_STEP_STOPPED;
    PetscCall(attempt([&] { return step(dt_s, mobility, pressure, &outcome); }, is_done));
    if (!*is_done || outcome == SURROGATE_STEP_ACCEPTED) PetscFunctionReturn(0);
    *is_done = false;
    problem_ = text_of(loop_.get(), surrogate_timeloop_reason);
    PetscFunctionReturn(0);
}

std::string SurrogatePressure::report() const {
    return text_of(loop_.get(), surrogate_timeloop_report);
}

std::string SurrogatePressure::how() const {
    std::string text;
    for (const char* key : {"backend", "vector", "threads"}) {
        char value[32];
        int64_t size = sizeof value;
        if (surrogate_plan_option(plan_.get(), key, value, &size) != SURROGATE_SUCCESS) continue;
        text += (text.empty() ? "" : ", ") + std::string(key) + " " + value;
    }
    return text;
}

}  // namespace darcy
