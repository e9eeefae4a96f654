// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace surrogate::timeloop {

struct Finding;

/// Counts values outside an interval, and may move them to its ends. NaN and infinite values are
/// not counted: FiniteGuard reports them.
class Limits {
public:
    /// Sets the interval. Its ends are rounded to the type of the array, so that a value at an end,
    /// as the solver stores it, is inside. `slack` is the fraction of the interval's width (of the
    /// magnitude of its end, if the width is zero) by which values may exceed an end and still
    /// count as inside.
    void begin(double min, double max, bool is_single, double slack = 0);
    /// Counts the values outside. With `moves` it moves them to the ends, and ignores the slack.
    void look(std::span<double> values, bool moves);
    /// Counts n values that are known to be outside; `value` is one of them.
    void note(int64_t n, double value);

    int64_t n_outside() const { return n_outside_; }
    /// Writes [2] numbers for a maximum over the ranks. complete() sets value and limit of a result
    /// from the maximum.
    void write_worst(double* worst) const;
    void complete(const double* worst, Finding* finding) const;

private:
    double min_ = 0, max_ = 0;
    double lowest_ = 0, highest_ = 0;  // with slack
    int64_t n_outside_ = 0;
    double largest_ = 0, smallest_ = 0;
};

}  // namespace surrogate::timeloop
