// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "coupling/job/job.hpp"

namespace surrogate::tool {

/// Comparison of one input's values with the range on which the model was trained.
struct RangeCount {
    surrogate_field_info field;
    int64_t n_outside = 0;  ///< points, over all ranks; NaN counts as outside
    int64_t n_points = 0;   ///< over all ranks
    double worst = 0;       ///< the value farthest outside; 0 if no value is outside

    double percent() const;
    /// Returns a text such as "mobility: 12 % of the points are outside [3, 12] m^2/(Pa s), the
    /// range of the training data; the worst is 1e+06".
    std::string warning(const std::string& points) const;
};

/// Compares every input of the card that has a range, in the card's order. Collective.
///   x       [n][n_axis] coordinates
///   fields   [inputs that are fields][n]
///   numbers  [inputs that are numbers per cloud][n_cloud]
///   clouds   [n] of the points; empty: one cloud
std::vector<RangeCount> count_ranges(const Job& job,
                                     const std::vector<surrogate_field_info>& inputs,
                                     const std::vector<double>& x, int64_t n_axis,
                                     const std::vector<std::vector<double>>& fields,
                                     const std::vector<std::vector<double>>& numbers,
                                     const std::vector<int64_t>& clouds);

/// Returns lines such as "mobility  1.3 % outside [3, 12] m^2/(Pa s)". "" without inputs.
std::string range_table(const std::vector<RangeCount>& counts);

}  // namespace surrogate::tool
