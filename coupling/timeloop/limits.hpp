// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace surrogate::timeloop {

struct Finding;

/// Counts values outside an interval, and may move them to its ends. NaN and infinite values are
/// not counted: another guard has them.
class Limits {
public:
    /// Ends as an array of this type holds them: a value at the end, as the solver stores it, lies
    /// inside. slack: share of the interval's width (of its end, if there is no width) by which
    /// values may pass an end and still count as inside.
    void begin(double min, double max, bool is_single, double slack = 0);
    /// moves: to the ends; slack does not count then.
    void look(std::span<double> values, bool moves);
    /// One value that is known to be outside, of `n`.
    void note(int64_t n, double value);

    int64_t n_outside() const { return n_outside_; }
    /// [2] for a maximum over the ranks; then what it gives to a finding.
    void write_worst(double* worst) const;
    void complete(const double* worst, Finding* finding) const;

private:
    double min_ = 0, max_ = 0;
    double lowest_ = 0, highest_ = 0;  // with slack
    int64_t n_outside_ = 0;
    double largest_ = 0, smallest_ = 0;
};

}  // namespace surrogate::timeloop
