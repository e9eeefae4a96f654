// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "coupling/tool/evaluate.hpp"
#include "coupling/training/evaluation.hpp"

/// Parts that all reports of `evaluate` have.
namespace surrogate::tool {

/// Returns the inputs that are outside of the ranges on the card, one per line; "" if none is.
std::string outside_text(const std::vector<OutsideCount>& counts);

/// Returns file, sample and state of a pair.
nlohmann::json sample_json(const TrainData& data, const Pair& pair);

/// Returns the cells "file,sample,state" of a pair.
std::string sample_cells(const TrainData& data, const Pair& pair);

/// Returns the text of a report: its own keys, and program, model, data and inputs.
std::string report_text(const EvaluateArguments& arguments,
                        const std::vector<OutsideCount>& outside, const nlohmann::json& own);

}  // namespace surrogate::tool
