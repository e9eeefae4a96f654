// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <string>

#include "coupling/job/job.hpp"

namespace surrogate::tool {

/// Memory of a plan beside the solver's own arrays, in bytes, the largest over ranks; NaN: not
/// known.
struct PlanMemory {
    double of_point = std::numeric_limits<double>::quiet_NaN();  ///< NaN on a grid: see of_rank
    double of_rank = std::numeric_limits<double>::quiet_NaN();   ///< on a grid: all of it
    /// "992 bytes a point and 1.2 MB a rank", for a grid "5.4 MB a rank on 1 rank"; or that finding
    /// out takes more than the limits of plan_probe.hpp.
    std::string text;
};

/// Returns the memory of a plan of `model`, read from `file`. `has_no_limit`: measured without a
/// limit. Collective. Errors: surrogate::Error, the same on every rank.
PlanMemory plan_memory(const Job& job, const Context& context, const Model& model,
                       const std::string& file, bool has_no_limit);

}  // namespace surrogate::tool
