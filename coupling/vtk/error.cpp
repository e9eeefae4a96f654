// SPDX-License-Identifier: Apache-2.0
#include "coupling/vtk/error.hpp"

namespace surrogate::vtk {

namespace {
// A fixed buffer, because storing "out of memory" must not allocate.
thread_local char last_error[2048] = "";
}  // namespace

surrogate_status remember(surrogate_status status, const char* text) noexcept {
    surrogate_context_fail(nullptr, status, text);
    const char* const kept = surrogate_error(nullptr);  // escaped for terminals
    size_t i = 0;
    for (; kept[i] != '\0' && i + 1 < sizeof last_error; ++i) last_error[i] = kept[i];
    last_error[i] = '\0';
    return status;
}

}  // namespace surrogate::vtk

extern "C" const char* surrogate_vtk_error(void) {
    return surrogate::vtk::last_error;
}
