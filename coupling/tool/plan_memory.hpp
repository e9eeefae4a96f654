// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <string>

#include "coupling/job/job.hpp"

namespace surrogate::tool {

/// Memory of a plan in addition to the solver's own arrays, in bytes, the largest over ranks; NaN:
/// unknown.
struct PlanMemory {
    double of_point = std::numeric_limits<double>::quiet_NaN();  ///< NaN on a grid: see of_rank
    double of_rank = std::numeric_limits<double>::quiet_NaN();   ///< on a grid: all of it
    /// A text such as "992 bytes a point and 1.2 MB a rank", for a grid "5.4 MB a rank on 1 rank",
    /// or a text that measuring exceeds the limits of plan_probe.hpp.
    std::string text;
};

/// Returns the memory of a plan of `model`, read from `file`. With `has_no_limit` it is measured
/// without a limit. Collective. Errors: surrogate::Error, the same on all ranks.
PlanMemory plan_memory(const Job& job, const Context& context, const Model& model,
                       const std::string& file, bool has_no_limit);

}  // namespace surrogate::tool
