// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <surrogate/surrogate_vtk.h>

#include <stdexcept>
#include <string>

#include "coupling/error/error.hpp"

namespace surrogate::vtk {

/// Error with the text for surrogate_vtk_error(): the request, the value found, and a remedy.
class Error : public std::runtime_error {
public:
    Error(surrogate_status status, const std::string& text)
        : std::runtime_error(text), status_(status) {}
    surrogate_status status() const { return status_; }

private:
    surrogate_status status_;
};

/// Throws INVALID_ARGUMENT "<what> is NULL" for a null pointer.
inline void require(const void* pointer, const char* what) {
    if (pointer == nullptr) throw Error(SURROGATE_INVALID_ARGUMENT, std::string(what) + " is NULL");
}

/// Stores the text for surrogate_vtk_error() of this thread, and in the library for
/// surrogate_error(NULL), so that both return the last error. Returns status.
surrogate_status remember(surrogate_status status, const char* text) noexcept;

/// Runs the work of a C function, converts exceptions to a status and stores their text.
template <class Work>
surrogate_status guarded(Work&& work) noexcept {
    try {
        work();
        return SURROGATE_SUCCESS;
    } catch (const Error& error) {
        return remember(error.status(), error.what());
    } catch (...) {
        return coupling::keep_exception(remember);
    }
}

}  // namespace surrogate::vtk
