// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "coupling/training/data.hpp"
#include "coupling/training/statistics.hpp"

namespace surrogate::tool {

/// The card's key `pooled` (page reference/model-file.md): how the pooled inputs of the training
/// samples are distributed. null for fewer than ten samples a feature, which tell too little, and
/// where no input is a field. mean, std: the card's, by input.
nlohmann::json pooled_statistics(const std::vector<Channel>& inputs,
                                 const DataStatistics& statistics, const std::vector<double>& mean,
                                 const std::vector<double>& std);

}  // namespace surrogate::tool
