// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace million {

/// Bytes of this process in memory, now and at most so far; bytes that it has read from files and
/// the like. Local; -1 where the system does not tell (now and read: Linux does).
int64_t memory_now();
int64_t memory_peak();
int64_t bytes_read();

/// Gives memory that was freed back to the system, where the C library can, so that memory_now()
/// shows what is in use.
void release_free_memory();

}  // namespace million
