// SPDX-License-Identifier: Apache-2.0
#include <surrogate/surrogate_petsc.h>

#include <cstdint>

#include "device_stream.hpp"
#include "lend_vecs.hpp"
#include "log_events.hpp"
#include "status_of.hpp"

namespace surrogate::petsc {

namespace {

/// Runs a plan on the arrays of Vecs.
class PlanRun final : public Borrower {
public:
    explicit PlanRun(surrogate_plan* plan) : plan_(plan) {
        char backend[16];
        int64_t size = sizeof backend;
        if (surrogate_plan_option(plan, "backend", backend, &size) == SURROGATE_SUCCESS)
            place_ = place_for(backend);
    }

    const surrogate_plan* plan() const override { return plan_; }
    VecPlace place() const override { return place_; }
    bool keeps_outputs() const override { return false; }

    surrogate_status bind(bool is_input, const surrogate_vec_field& field,
                          const surrogate_array& array) override {
        return is_input ? surrogate_plan_bind_input(plan_, field.name, field.unit, &array)
                        : surrogate_plan_bind_output(plan_, field.name, field.unit, &array);
    }

    PetscErrorCode work(bool has_cuda) override { return has_cuda ? run_on_cuda() : run(); }

    /// Sends NaN. With agree=true the other ranks get the error of this rank.
    void take_part(surrogate_status status, const char* text) override {
        surrogate_plan_unbind(plan_);
        surrogate_plan_run_with_error(plan_, status, text);
    }

private:
    PetscErrorCode run() {
        PetscFunctionBegin;
        PetscCallSurrogate(surrogate_plan_run(plan_));
        PetscFunctionReturn(0);
    }

    /// Waits for PETSc, which may still be working on Vecs in CUDA memory.
    PetscErrorCode run_on_cuda() {
        if (const PetscErrorCode error = follow_petsc(plan_)) {
            take_part(status_of(error), "waiting for PETSc's work on the Vecs failed");
            return error;
        }
        const PetscErrorCode error = run();
        return error ? error : let_petsc_follow(plan_);
    }

    surrogate_plan* plan_;
    VecPlace place_ = VecPlace::host;
};

/// Differentiates the last run of a plan from Vecs w, the inputs of the call, to Vecs g. Ranks
/// agree on errors of Vecs before, so that the run can be differentiated by a later call.
class PlanBackward final : public Borrower {
public:
    explicit PlanBackward(surrogate_plan* plan) : plan_(plan) {}

    const surrogate_plan* plan() const override { return plan_; }
    VecPlace place() const override { return VecPlace::host; }
    bool keeps_outputs() const override { return true; }

    surrogate_status bind(bool is_input, const surrogate_vec_field& field,
                          const surrogate_array& array) override {
        return is_input ? surrogate_plan_bind_output_gradient(plan_, field.name, field.unit, &array)
                        : surrogate_plan_bind_input_gradient(plan_, field.name, field.unit, &array);
    }

    PetscErrorCode work(bool) override {
        PetscFunctionBegin;
        PetscCallSurrogate(surrogate_plan_agree(plan_, SURROGATE_SUCCESS, nullptr));
        PetscCallSurrogate(surrogate_plan_run_backward(plan_));
        PetscFunctionReturn(0);
    }

    void take_part(surrogate_status status, const char* text) override {
        surrogate_plan_agree(plan_, status, text);
    }

private:
    surrogate_plan* plan_;
};

/// Lends the Vecs of a call to `borrower`. The plan keeps no array.
template <class Of>
PetscErrorCode lend(surrogate_plan* plan, const VecList& list, Of borrower) {
    PetscFunctionBegin;
    PetscLogEvent event = 0;
    PetscCall(find_event("SurrRun", &event));
    EventScope scope(event);
    surrogate_plan_unbind(plan);
    const PetscErrorCode error = lend_vecs(list, borrower);
    surrogate_plan_unbind(plan);
    PetscCall(error);
    PetscFunctionReturn(0);
}

}  // namespace

}  // namespace surrogate::petsc

extern "C" PetscErrorCode surrogate_plan_run_vec(surrogate_plan* plan, PetscInt n_in,
                                                 const surrogate_vec_field in[], PetscInt n_out,
                                                 const surrogate_vec_field out[]) {
    PetscFunctionBegin;
    PetscCheck(plan, PETSC_COMM_SELF, PETSC_ERR_ARG_NULL, "plan is NULL");
    PetscCall(
        surrogate::petsc::lend(plan, {n_in, n_out, in, out}, surrogate::petsc::PlanRun(plan)));
    PetscFunctionReturn(0);
}

extern "C" PetscErrorCode surrogate_plan_run_backward_vec(surrogate_plan* plan, PetscInt n_w,
                                                          const surrogate_vec_field w[],
                                                          PetscInt n_g,
                                                          const surrogate_vec_field g[]) {
    PetscFunctionBegin;
    PetscCheck(plan, PETSC_COMM_SELF, PETSC_ERR_ARG_NULL, "plan is NULL");
    PetscCall(surrogate::petsc::lend(plan, {n_w, n_g, w, g}, surrogate::petsc::PlanBackward(plan)));
    PetscFunctionReturn(0);
}
