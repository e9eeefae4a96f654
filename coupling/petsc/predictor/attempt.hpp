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

/// What came of a call that may fail on some ranks; after agree() the same on all of them.
struct Verdict {
    PetscErrorCode error = 0;
    std::string text;

    explicit operator bool() const { return error == 0; }
};

/// Calls a function that returns a PetscErrorCode, with an error handler that prints nothing. Local.
template <class Call>
Verdict attempt(Call&& call) {
    Verdict verdict;
    if (PetscPushErrorHandler(PetscReturnErrorHandler, nullptr))
        return {PETSC_ERR_LIB, "no handler"};
    verdict.error = std::forward<Call>(call)();
    char* text = nullptr;  // PETSc's, of the error raised last
    if (verdict.error && !PetscErrorMessage(verdict.error, nullptr, &text) && text)
        verdict.text = text;
    if (PetscPopErrorHandler()) return {PETSC_ERR_LIB, "no handler"};
    return verdict;
}

/// Brings the verdict of the first rank that failed to all ranks of the context. Collective. A
/// failed MPI call stays the verdict of this rank alone, because other ranks may wait in that call.
inline Verdict agree(surrogate_context* context, Verdict verdict) {
    if (verdict.error == PETSC_ERR_MPI) return verdict;
    const surrogate_status status =
        surrogate_context_agree(context, status_of(verdict.error), verdict.text.c_str());
    if (status == SURROGATE_SUCCESS) return {};
    return {surrogate_petsc_error_code(status), surrogate_error(context)};
}

/// Calls a function that returns a PetscErrorCode and may throw what the standard library throws:
/// nothing passes into PETSc.
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
