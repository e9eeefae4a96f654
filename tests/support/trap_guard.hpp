// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cfenv>

namespace surrogate::test {

/// Floating-point traps as solvers switch them on (-ffpe-trap=invalid,zero,overflow): while it
/// lives, such an operation kills the program. For the calling thread and those it starts.
class TrapGuard {
public:
    TrapGuard() {
        std::feclearexcept(FE_ALL_EXCEPT);
        feenableexcept(traps);
    }
    ~TrapGuard() {
        std::feclearexcept(FE_ALL_EXCEPT);
        fedisableexcept(traps);
    }
    TrapGuard(const TrapGuard&) = delete;
    TrapGuard& operator=(const TrapGuard&) = delete;

private:
    static constexpr int traps = FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW;
};

}  // namespace surrogate::test
