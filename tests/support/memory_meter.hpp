// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace surrogate::test {

/// Memory taken through operator new, which memory_meter.cpp replaces for the whole program.
/// Numbers count from the construction of the meter; one meter at a time.
class MemoryMeter {
public:
    MemoryMeter();
    int64_t peak_bytes() const;  ///< largest sum of live allocations, beyond what lived before
    int64_t live_bytes() const;  ///< what lives now beyond that
    int64_t n_allocation() const;
    /// Returns the sizes that were asked for, of `least` bytes and more.
    std::vector<int64_t> large_sizes(int64_t least) const;

private:
    int64_t live_before_, count_before_, large_before_;
};

}  // namespace surrogate::test
