// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <string>
#include <vector>

#include "initial.hpp"
#include "solver.hpp"
#include "tests/support/golden_file.hpp"

namespace surrogate::test {

/// A whole field [n_lat][n_lon], or several, cut down to the rows of this rank.
inline std::vector<double> own_part(const shallow_water::Layout& layout,
                                    const std::vector<double>& whole) {
    const int64_t n_sphere = layout.resolution().n_lat * layout.resolution().n_lon;
    std::vector<double> part;
    for (auto field = whole.begin(); field != whole.end(); field += n_sphere) {
        const auto first = field + layout.first_row() * layout.resolution().n_lon;
        part.insert(part.end(), first, first + layout.n_point());
    }
    return part;
}

/// Largest |a - b| of one field over all ranks, divided by the largest |b|; NaN if a number is NaN.
/// Both [n_field][points of this rank]. Collective.
inline double distance(const shallow_water::Layout& layout, const std::vector<double>& a,
                       const std::vector<double>& b, int64_t field) {
    double value[3] = {0, 0, 0};  // difference, size, number of NaN
    const int64_t n = layout.n_point();
    for (int64_t i = field * n; i < (field + 1) * n; ++i) {
        const auto at = static_cast<std::size_t>(i);
        value[0] = std::max(value[0], std::abs(a[at] - b[at]));
        value[1] = std::max(value[1], std::abs(b[at]));
        if (std::isnan(a[at] - b[at])) value[2] = 1;
    }
    MPI_Allreduce(MPI_IN_PLACE, value, 3, MPI_DOUBLE, MPI_MAX, layout.comm());
    if (value[2] > 0) return std::nan("");
    return value[0] == 0 ? 0 : value[0] / value[1];
}

/// Bands of rows from north to south of which the first rank has none, the second most, and one
/// between the others none: what a solver may have.
inline std::vector<int64_t> awkward_bands(int64_t n_lat, int size) {
    std::vector<int64_t> first(static_cast<std::size_t>(size) + 1, n_lat);
    first[0] = 0;
    if (size > 1) first[1] = 0;
    for (int r = 2; r < size; ++r)
        first[static_cast<std::size_t>(r)] = n_lat - std::max(0, size - 1 - r) * (n_lat / 16);
    return first;
}

}  // namespace surrogate::test
