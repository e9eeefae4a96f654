// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "coupling/training/config.hpp"

namespace surrogate::tool {

/// Returns the texts, by key, that must be equal when a training is resumed: the fingerprint of the
/// configuration and the hashes of data and initial weights.
nlohmann::json fingerprint_of(const TrainConfig& config, const nlohmann::json& provenance);

/// Throws Failure with a line for each difference unless both are equal. `folder` is the folder of
/// the training.
void require_same(const nlohmann::json& before, const nlohmann::json& now,
                  const std::string& folder);

}  // namespace surrogate::tool
