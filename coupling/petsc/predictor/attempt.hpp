// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <petscsys.h>
#include <surrogate/surrogate_petsc.h>

#include <exception>
#include <new>
#include <string>
#include <utility>

#include "coupling/petsc/status_of.hpp"

namespace surrogate::petsc {

/// Result of a call that may fail on some ranks. After agree() it is the same on all ranks.
struct AttemptResult {
    PetscErrorCode error = 0;
    std::string text;

    explicit operator bool() const { return error == 0; }
};

/// Calls a function that returns a PetscErrorCode, with an error handler that prints nothing.
/// Local.
template <class Call>
AttemptResult attempt(Call&& call) {
    AttemptResult outcome;
    if (PetscPushErrorHandler(PetscReturnErrorHandler, nullptr))
        return {PETSC_ERR_LIB, "no handler"};
    outcome.error = std::forward<Call>(call)();
    char* text = nullptr;  // PETSc's, of the error raised last
    if (outcome.error && !PetscErrorMessage(outcome.error, nullptr, &text) && text)
        outcome.text = text;
    if (PetscPopErrorHandler()) return {PETSC_ERR_LIB, "no handler"};
    return outcome;
}

/// Sends the result of the first rank that failed to all ranks of the context. Collective. A failed
/// MPI call stays the result of this rank alone, because other ranks may wait in that call.
inline AttemptResult agree(surrogate_context* context, AttemptResult outcome) {
    if (outcome.error == PETSC_ERR_MPI) return outcome;
    const surrogate_status status =
        surrogate_context_agree(context, status_of(outcome.error), outcome.text.c_str());
    if (status == SURROGATE_SUCCESS) return {};
    return {surrogate_petsc_error_code(status), surrogate_error(context)};
}

/// Calls a function that returns a PetscErrorCode and may throw exceptions of the standard library.
/// Converts them, so that no exception reaches PETSc.
template <class Call>
PetscErrorCode guarded(Call&& call) {
    try {
        return std::forward<Call>(call)();
    } catch (const std::bad_alloc&) {
        SETERRQ(PETSC_COMM_SELF, PETSC_ERR_MEM, "no memory for the surrogate's own lists");
    } catch (const std::exception& error) {
        SETERRQ(PETSC_COMM_SELF, PETSC_ERR_LIB, "%s", error.what());
    }
}

}  // namespace surrogate::petsc
