// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

namespace surrogate::timeloop {

/// Adds doubles without rounding: the sum is bitwise identical for any order and grouping of the
/// terms, and for any number of ranks. The sum is a fixed-point number that covers the exponents of
/// all doubles, in limbs of 32 bits, which are signed 64-bit integers while terms are added.
/// value() rounds once, to nearest.
/// Source: U. Kulisch, "Computer arithmetic and validity", 2008 (the complete register).
class ExactSum {
public:
    /// The range 2^-1074 .. 2^1024 takes 2098 bits; 2^63 terms add 63 bits.
    static constexpr int n_limb = 68;

    void clear();

    /// Adds a finite term. Does not allocate.
    void add(double term);
    void add(const double* terms, int64_t n);

    /// Writes [n_limb] integers below 2^32 as doubles. Sums of them over up to 2^20 ranks are exact
    /// in any order.
    void write(double* limbs);

    /// Returns the value of such a sum, rounded to nearest; infinite if it exceeds the range of
    /// doubles.
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
