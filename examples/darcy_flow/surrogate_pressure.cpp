// SPDX-License-Identifier: Apache-2.0
#include "surrogate_pressure.hpp"

#include <surrogate/surrogate_petsc.h>

namespace darcy {

/// Runs `work` without PETSc printing its error; *is_done if it succeeded on all ranks. problem_ is
/// otherwise that of the first rank that failed.
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
    *is_done = !error;
    if (!context_) PetscFunctionReturn(0);  // it could not be made, on no rank
    const surrogate_status status = error ? SURROGATE_INVALID_ARGUMENT : SURROGATE_SUCCESS;
    *is_done =
        surrogate_context_agree(context_.get(), status, problem_.c_str()) == SURROGATE_SUCCESS;
    if (!*is_done) problem_ = surrogate_error(context_.get());
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

PetscErrorCode SurrogatePressure::predict(Vec mobility, Vec pressure, bool* is_done) {
    PetscFunctionBegin;
    const surrogate_vec in = {"mobility", "m^2/(Pa s)", mobility, 0, 0};
    const surrogate_vec out = {"pressure", "Pa", pressure, 0, 0};
    PetscCall(
        attempt([&] { return surrogate_plan_run_vec(plan_.get(), 1, &in, 1, &out); }, is_done));
    PetscFunctionReturn(0);
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
