// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace surrogate::vtk {

/// Returns the first of n items that part `part` of n_parts has when the parts are equal ranges.
int64_t range_begin(int64_t n, int part, int n_parts);

/// Returns the rows of each of n_parts parts of n rows at x [n][3], by recursive coordinate
/// bisection: the rows are halved across the longest side of their bounding box, then each half in
/// the same manner. Every part gets n / n_parts rows, some parts one more. Rows are ascending. The
/// result is the same on every rank: equal coordinates are ordered by row number, and NaN comes
/// first. Time n log n_parts, memory 16 bytes per row in addition to x.
std::vector<std::vector<int64_t>> bisect(const std::vector<double>& x, int n_parts);

}  // namespace surrogate::vtk
