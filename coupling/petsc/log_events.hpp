// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <petscsys.h>

#include <tuple>

namespace surrogate::petsc {

/// Returns the log event "SurrPlan", "SurrRun" or "SurrGuess". The event is registered at its first
/// use, so that PetscInitialize needs no further call. It is found by name, so that no state
/// outlives PetscFinalize.
PetscErrorCode find_event(const char* name, PetscLogEvent* event);

/// Records a log event from construction to the end of the scope, also after an error return.
class EventScope {
public:
    explicit EventScope(PetscLogEvent event)
        : event_(event),
          begun_(PetscLogEventBegin(event, nullptr, nullptr, nullptr, nullptr) == 0) {}
    ~EventScope() {
        if (begun_) std::ignore = PetscLogEventEnd(event_, nullptr, nullptr, nullptr, nullptr);
    }
    EventScope(const EventScope&) = delete;
    EventScope& operator=(const EventScope&) = delete;

private:
    PetscLogEvent event_;
    bool begun_;
};

}  // namespace surrogate::petsc
