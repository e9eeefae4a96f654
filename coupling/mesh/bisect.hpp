// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace surrogate::vtk {

/// First of n things that part `part` of n_parts gets in equal ranges.
int64_t range_begin(int64_t n, int part, int n_parts);

/// Rows of each of n_parts parts when n rows at x [n][3] are dealt by recursive coordinate
/// bisection: the rows in half across the longest side of the box around them, each half in half
/// again, and so on. Every part gets n / n_parts rows, some one more. Ascending. The same parts
/// whoever asks: equal coordinates are told apart by their number; what is not a number comes
/// first. Time n log n_parts, memory 16 bytes a row beside x.
std::vector<std::vector<int64_t>> bisect(const std::vector<double>& x, int n_parts);

}  // namespace surrogate::vtk
