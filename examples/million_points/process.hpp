// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace million {

/// Return the bytes of this process in memory, now and at most so far, and the bytes that it has
/// read from files and the like. Local; -1 if the system does not report it (Linux reports now and
/// read).
int64_t memory_now();
int64_t memory_peak();
int64_t bytes_read();

/// Returns freed memory to the system, if the C library can, so that memory_now() gives the memory
/// in use.
void release_free_memory();

}  // namespace million
