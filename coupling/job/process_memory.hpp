// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace surrogate::tool {

/// The most memory that this process has had at one time so far, in bytes: pages in RAM, with
/// libraries and what MPI takes.
int64_t peak_memory();

}  // namespace surrogate::tool
