// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace surrogate::impl {

/// Sums that do not depend on the order or grouping of their terms: numbers are rounded to a common
/// grid and added as integers. Grid: multiples of 2^-shift, fine enough that n_term terms below
/// `bound` cannot overflow int64. With more than 2^14 terms a second integer keeps what the first
/// rounded away, 2^-40 further down, so that the resolution stays below 2^-42 of the bound.
/// Source: spec of FLARE, section 12, "canonical blocks".
class ExactGrid {
public:
    /// n_term >= 1 over all ranks; bound >= 0 on |term|, the same on all ranks.
    ExactGrid(int64_t n_term, double bound);

    /// Integers a sum needs on a grid of n_term terms: 1 or 2.
    static int limbs(int64_t n_term) { return n_term > (int64_t{1} << 14) ? 2 : 1; }

    /// Adds a term to sum[0], sum[stride] (the second only with two limbs).
    void add(double term, int64_t* sum, int64_t stride) const;

    /// The value of a sum.
    double value(const int64_t* sum, int64_t stride) const;

private:
    int shift_ = 0;
    bool two_limbs_ = false;
    bool is_zero_ = false;  // bound 0: all terms are 0
};

}  // namespace surrogate::impl
