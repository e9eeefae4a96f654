// SPDX-License-Identifier: Apache-2.0
#include "log_events.hpp"

namespace surrogate::petsc {

PetscErrorCode find_event(const char* name, PetscLogEvent* event) {
    PetscFunctionBegin;
    *event = -1;
    PetscCall(PetscLogEventGetId(name, event));
    if (*event < 0) {
        PetscClassId surrogate_class = 0;
        PetscLogEvent plan = 0, run = 0, guess = 0;
        PetscCall(PetscClassIdRegister("Surrogate", &surrogate_class));
        PetscCall(PetscLogEventRegister("SurrPlan", surrogate_class, &plan));
        PetscCall(PetscLogEventRegister("SurrRun", surrogate_class, &run));
        PetscCall(PetscLogEventRegister("SurrGuess", surrogate_class, &guess));
        PetscCall(PetscLogEventGetId(name, event));
    }
    PetscFunctionReturn(0);
}

}  // namespace surrogate::petsc
