// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

namespace surrogate::timeloop {

/// A sum of doubles without rounding: the same number for any order and grouping of the terms, and
/// any number of ranks. A fixed-point number as wide as all doubles, in limbs of 32 bits, which are
/// signed 64-bit integers while terms are added; rounded once, to nearest, when its value is asked.
/// Source: U. Kulisch, "Computer arithmetic and validity", 2008 (the complete register).
class ExactSum {
public:
    /// 2^-1074 .. 2^1024 are 2098 bits, and 2^63 terms 63 more.
    static constexpr int n_limb = 68;

    void clear();

    /// Terms are finite. Takes no memory.
    void add(double term);
    void add(const double* terms, int64_t n);

    /// [n_limb] integers below 2^32 as doubles, of which sums over 2^20 ranks are exact in any
    /// order.
    void write(double* limbs);

    /// The value of such a sum, to nearest; infinite if no double holds it.
    static double value(const double* limbs);

private:
    using Limbs = std::array<int64_t, n_limb>;

    static void carry(Limbs& limbs);
    void add_integer(int64_t integer, int position);
    void add_chunk(const double* terms, int64_t n);

    Limbs limbs_{};
    int64_t n_added_ = 0;  // since the last carry
};

}  // namespace surrogate::timeloop
