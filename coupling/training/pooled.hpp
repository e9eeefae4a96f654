// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "coupling/training/data.hpp"
#include "coupling/training/statistics.hpp"

namespace surrogate::tool {

/// Returns the value of the card's key `pooled` (see reference/model-file.md): the distribution of
/// the pooled inputs of the training samples. Returns null for fewer than ten samples per feature,
/// which give too noisy an estimate, if no input is a field, and for integers. `mean` and `std` are
/// the card's values, by input.
nlohmann::json pooled_statistics(const std::vector<Channel>& inputs,
                                 const DataStatistics& statistics, const std::vector<double>& mean,
                                 const std::vector<double>& std);

}  // namespace surrogate::tool
