// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace surrogate::tool {

/// While an object exists, its thread may allocate at most n_byte with `operator new`; freed memory
/// does not reduce the count. Requests beyond the limit fail as if no memory were left, and
/// libsurrogate returns SURROGATE_NO_MEMORY. This allows trying work of unknown size. At most one
/// object per thread.
class MemoryBudget {
public:
    explicit MemoryBudget(int64_t n_byte);
    ~MemoryBudget();
    MemoryBudget(const MemoryBudget&) = delete;
    MemoryBudget& operator=(const MemoryBudget&) = delete;

    /// Returns true if a request failed because of the last budget of this thread. If false, a
    /// std::bad_alloc or SURROGATE_NO_MEMORY means that the machine has no memory left.
    static bool was_exceeded();
};

}  // namespace surrogate::tool
