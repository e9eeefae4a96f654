// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>

namespace surrogate::impl {

/// Sums that do not depend on the order or grouping of their terms: numbers are rounded to a common
/// grid and added as integers. Grid: multiples of 2^-shift, fine enough that n_term terms below
/// `bound` cannot overflow int64. With more than 2^14 terms a second integer keeps what the first
/// rounded away, 2^-40 further down, so that the resolution stays below 2^-42 of the bound.
/// Source: spec of FLARE, section 12, "canonical blocks".
class ExactGrid {
public:
    /// Chooses the grid. n_term >= 1 over all ranks; bound >= 0 on |term|, the same on all ranks.
    ExactGrid(int64_t n_term, double bound);

    /// Returns the integers per sum on a grid of n_term terms: 1 or 2.
    static int limbs(int64_t n_term) { return n_term > (int64_t{1} << 14) ? 2 : 1; }

    /// Adds a term to sum[0], sum[stride] (the second only with two limbs).
    void add(double term, int64_t* sum, int64_t stride) const;

    /// Returns the value of a sum.
    double value(const int64_t* sum, int64_t stride) const;

private:
    int shift_ = 0;
    bool two_limbs_ = false;
    bool is_zero_ = false;  // bound 0: all terms are 0
};

/// Values of sums of one term on an ExactGrid of one term, without integers: loops over terms
/// vectorize.
class ExactRounding {
public:
    /// Chooses the grid of ExactGrid for one term of this bound.
    explicit ExactRounding(double bound);

    /// Returns what add() to an empty sum and value() return.
    double operator()(double term) const {
        constexpr double integers = 0x1p52;  // doubles from here on are integers
        const double scaled = term * up_[0] * up_[1], shift = std::copysign(integers, scaled);
        const double high = std::abs(scaled) < integers ? (scaled + shift) - shift : scaled;
        return high * down_[0] * down_[1];
    }

private:
    double up_[2] = {0, 0}, down_[2] = {0, 0};  // 2^shift and 2^-shift as products, 0: bound 0
};

}  // namespace surrogate::impl
