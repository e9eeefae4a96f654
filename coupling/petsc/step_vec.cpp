// SPDX-License-Identifier: Apache-2.0
#include <surrogate/surrogate_petsc.h>
#include <surrogate/surrogate_timeloop.h>

#include "lend_vecs.hpp"
#include "log_events.hpp"

namespace surrogate::petsc {

namespace {

/// Steps a time loop on the arrays of Vecs.
class LoopStep final : public Borrower {
public:
    LoopStep(surrogate_timeloop* loop, surrogate_plan* plan, PetscReal dt_s, int32_t* outcome)
        : loop_(loop), plan_(plan), dt_s_(dt_s), outcome_(outcome) {}

    const surrogate_plan* plan() const override { return plan_; }
    VecPlace place() const override { return VecPlace::host; }
    bool keeps_outputs() const override { return true; }

    surrogate_status bind(bool, const surrogate_vec_field& field,
                          const surrogate_array& array) override {
        return surrogate_timeloop_bind(loop_, field.name, field.unit, &array);
    }

    PetscErrorCode work(bool) override {
        PetscFunctionBegin;
        PetscCallSurrogate(surrogate_timeloop_step(loop_, dt_s_, outcome_));
        PetscFunctionReturn(0);
    }

    void take_part(surrogate_status status, const char* text) override {
        surrogate_timeloop_step_with_error(loop_, status, text);
    }

private:
    surrogate_timeloop* loop_;
    surrogate_plan* plan_;
    PetscReal dt_s_;
    int32_t* outcome_;
};

}  // namespace

}  // namespace surrogate::petsc

extern "C" PetscErrorCode surrogate_timeloop_step_vec(surrogate_timeloop* loop, PetscReal dt_s,
                                                      PetscInt n_in, const surrogate_vec_field in[],
                                                      PetscInt n_out,
                                                      const surrogate_vec_field out[],
                                                      int32_t* outcome) {
    PetscFunctionBegin;
    PetscCheck(loop, PETSC_COMM_SELF, PETSC_ERR_ARG_NULL, "loop is NULL");
    surrogate_plan* plan = nullptr;  // borrowed
    PetscCallSurrogate(surrogate_timeloop_plan(loop, &plan));
    PetscLogEvent event = 0;
    PetscCall(surrogate::petsc::find_event("SurrRun", &event));
    surrogate::petsc::EventScope scope(event);
    surrogate::petsc::LoopStep step(loop, plan, dt_s, outcome);
    surrogate_timeloop_unbind(loop);
    const PetscErrorCode error = surrogate::petsc::lend_vecs({n_in, n_out, in, out}, step);
    surrogate_timeloop_unbind(loop);  // the arrays were borrowed for this call only
    PetscCall(error);
    PetscFunctionReturn(0);
}
