// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <surrogate/surrogate.h>

#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <surrogate/surrogate.hpp>

namespace surrogate::coupling {

/// A failure whose text is already stored in the context: agreed between the ranks, or from a C
/// function.
struct KeptFailure {
    surrogate_status status;
};

/// Throws KeptFailure if a C function of the library has failed.
inline void require_success(surrogate_status status) {
    if (status != SURROGATE_SUCCESS) throw KeptFailure{status};
}

[[noreturn]] inline void fail(surrogate_status status, const std::string& text) {
    throw Error(status, text.c_str());
}

/// Throws INVALID_ARGUMENT "argument '<name>' is NULL" for a null pointer.
inline void require(const void* argument, const char* name) {
    if (argument == nullptr)
        fail(SURROGATE_INVALID_ARGUMENT, std::string("argument '") + name + "' is NULL");
}

/// Returns the text of an error without the name of its status.
inline const char* text_of(const Error& error) {
    return error.what() + std::strlen(surrogate_status_name(error.status())) + 2;
}

/// Calls keep(status, text) for the exception that is being handled, and returns its result;
/// KeptFailure has its text already. Must be called in a catch block.
template <class Keep>
surrogate_status keep_exception(const Keep& keep) noexcept {
    try {
        throw;
    } catch (const KeptFailure& failure) {
        return failure.status;
    } catch (const Error& error) {
        return keep(error.status(), text_of(error));
    } catch (const std::bad_alloc&) {
        return keep(SURROGATE_NO_MEMORY, "out of memory");
    } catch (const std::exception& error) {
        return keep(SURROGATE_INTERNAL, error.what());
    } catch (...) {
        return keep(SURROGATE_INTERNAL, "an exception of unknown type");
    }
}

/// Runs the work of a C function and converts exceptions to a status. The text is stored in the
/// context (may be null).
template <class Work>
surrogate_status guarded(surrogate_context* context, const Work& work) noexcept {
    try {
        work();
        return SURROGATE_SUCCESS;
    } catch (...) {
        return keep_exception([context](surrogate_status status, const char* text) {
            return surrogate_context_fail(context, status, text);
        });
    }
}

/// Runs the local work of a collective function. If it fails on any rank, throws KeptFailure on all
/// ranks, with the text of the first failure.
template <class Work>
void agreed(surrogate_context* context, const Work& work) {
    const surrogate_status status = guarded(context, work);
    require_success(surrogate_context_agree(context, status, nullptr));
}

}  // namespace surrogate::coupling
