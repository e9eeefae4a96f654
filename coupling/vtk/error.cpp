// SPDX-License-Identifier: Apache-2.0
#include "coupling/vtk/error.hpp"

namespace surrogate::vtk {

namespace {
// A plain buffer: remembering "out of memory" must not need memory.
thread_local char last_error[2048] = "";
}  // namespace

void remember(const char* text) noexcept {
    size_t i = 0;
    for (; text[i] != '\0' && i + 1 < sizeof last_error; ++i) last_error[i] = text[i];
    last_error[i] = '\0';
}

}  // namespace surrogate::vtk

extern "C" const char* surrogate_vtk_error(void) {
    return surrogate::vtk::last_error;
}
