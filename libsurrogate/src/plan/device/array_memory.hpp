// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "kernels/device/device.hpp"
#include "surrogate/surrogate.h"

namespace surrogate::impl {

/// Throws invalid_argument unless a checked array lies where its space says: on `device`, or on the
/// host; memory managed by the runtime is both. Kernels that touch memory of another kind destroy
/// the device's context, with everything that the host has in it. `what` begins the message. Local;
/// asks the runtime about the first and the last byte.
void check_memory(kernels::Device& device, const surrogate_array& array, const std::string& what);

}  // namespace surrogate::impl
