// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace surrogate::tool {

/// Returns the largest resident memory of this process so far in bytes, including libraries and
/// buffers of MPI.
int64_t peak_memory();

}  // namespace surrogate::tool
