// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <surrogate/surrogate.hpp>
#include <vector>

#include "coupling/job/job.hpp"

namespace surrogate::tool {

/// Operations of a run in one layer, on one rank or over all ranks.
struct LayerWork {
    std::string name;
    double flops = 0, exponentials = 0, bytes = 0, collectives = 0;
    double messages = 0;  ///< between neighbors
};

/// Returns the table of Plan::describe() (surrogate_plan_describe), summed over ranks; for
/// collectives it has the largest count of a rank. Three digits. Collective. Empty for a plan
/// without a table.
std::vector<LayerWork> work_of_layers(const Job& job, const Plan& plan);

/// Parses the table in a text of Plan::describe(), without its last line, the total. Local.
std::vector<LayerWork> parse_layers(const std::string& text);

}  // namespace surrogate::tool
