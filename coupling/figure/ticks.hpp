// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace surrogate::vtk {

/// Returns round numbers in low .. high for an axis, ascending: 1, 2, 5 times powers of ten, at
/// most `most` and at least half as many (if the ends are far enough apart for doubles), with
/// distances of at least `least_step`.
std::vector<double> linear_ticks(double low, double high, int most, double least_step = 0);

/// Returns the numbers for a logarithmic axis, 0 < low < high: powers of ten, and round numbers
/// between them if there are few.
std::vector<double> log_ticks(double low, double high);

/// Returns the largest of 1, 2, 5 times a power of ten that is not above `value` > 0.
double round_down(double value);

/// Returns a text of at most six digits.
std::string tick_text(double value);

}  // namespace surrogate::vtk
