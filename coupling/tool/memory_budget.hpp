// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace surrogate::tool {

/// While it lives, the thread that made it takes at most n_byte of memory with `operator new`,
/// counted without what is given back; a request beyond that fails as if the machine had no memory
/// left, which libsurrogate answers with SURROGATE_NO_MEMORY. So work of unknown size can be tried.
/// One at a time in a thread.
class MemoryBudget {
public:
    explicit MemoryBudget(int64_t n_byte);
    ~MemoryBudget();
    MemoryBudget(const MemoryBudget&) = delete;
    MemoryBudget& operator=(const MemoryBudget&) = delete;

    /// Returns true if a request has failed because of the last budget of this thread. Otherwise a
    /// std::bad_alloc or SURROGATE_NO_MEMORY means that the machine has no memory.
    static bool was_exceeded();
};

}  // namespace surrogate::tool
