// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "coupling/tool/job.hpp"

namespace surrogate::tool {

/// What a plan of `model`, read from `file`, takes: "992 bytes a point and 1.2 MB a rank", for a grid
/// "5.4 MB a rank on 1 rank"; or that finding out takes more than the limits of plan_trial.hpp.
/// `has_no_limit`: found out whatever it takes. Collective. Errors: surrogate::Error, the same on
/// every rank.
std::string plan_memory(const Job& job, const Context& context, const Model& model,
                        const std::string& file, bool has_no_limit);

}  // namespace surrogate::tool
