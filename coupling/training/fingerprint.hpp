// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "coupling/training/config.hpp"

namespace surrogate::tool {

/// What must be the same when a training goes on, texts by key: the configuration's fingerprint, and the
/// hashes of data and start.
nlohmann::json fingerprint_of(const TrainConfig& config, const nlohmann::json& provenance);

/// Throws Failure with a line for each difference unless both are the same. folder: of the training.
void require_same(const nlohmann::json& before, const nlohmann::json& now,
                  const std::string& folder);

}  // namespace surrogate::tool
