// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <petscsys.h>

#include <tuple>

namespace surrogate::petsc {

/// The log event "SurrPlan", "SurrRun" or "SurrGuess". Registered at the first use, so that nothing
/// has to be initialised after PetscInitialize; looked up by name, so that nothing outlives
/// PetscFinalize.
PetscErrorCode find_event(const char* name, PetscLogEvent* event);

/// A log event from construction to the end of the scope, so that an error return ends it too.
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
