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

}  // namespace

}  // namespace surrogate::petsc

extern "C" PetscErrorCode surrogate_plan_run_vec(surrogate_plan* plan, PetscInt n_in,
                                                 const surrogate_vec_field in[], PetscInt n_out,
                                                 const surrogate_vec_field out[]) {
    PetscFunctionBegin;
    PetscCheck(plan, PETSC_COMM_SELF, PETSC_ERR_ARG_NULL, "plan is NULL");
    PetscLogEvent event = 0;
    PetscCall(surrogate::petsc::find_event("SurrRun", &event));
    surrogate::petsc::EventScope scope(event);
    surrogate::petsc::PlanRun run(plan);
    surrogate_plan_unbind(plan);
    const PetscErrorCode error = surrogate::petsc::lend_vecs({n_in, n_out, in, out}, run);
    surrogate_plan_unbind(plan);  // the arrays were borrowed for this call only
    PetscCall(error);
    PetscFunctionReturn(0);
}
