// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <surrogate/surrogate.hpp>
#include <vector>

#include "coupling/job/job.hpp"

namespace surrogate::tool {

/// Work of a run in one layer, on all ranks together.
struct LayerWork {
    std::string name;
    double flops = 0, exponentials = 0, bytes = 0, collectives = 0;
};

/// The table of Plan::describe() (surrogate_plan_describe), summed over ranks; collectives are the
/// largest of a rank. Three digits. Collective. Empty for a plan that has none.
std::vector<LayerWork> work_of_layers(const Job& job, const Plan& plan);

/// The table in a text of Plan::describe(), without its last line, the total. Local.
std::vector<LayerWork> parse_layers(const std::string& text);

}  // namespace surrogate::tool
