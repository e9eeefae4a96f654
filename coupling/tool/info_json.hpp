// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <surrogate/surrogate.hpp>

#include "coupling/job/job.hpp"
#include "coupling/tool/plan_memory.hpp"

namespace surrogate::tool {

/// Description of a file's check case in `info`.
struct CaseSummary {
    bool is_usable = false;
    std::string text;
};

/// Returns the output of `info --json`: JSON in ASCII, indented, with a newline at its end. Numbers
/// that are not finite (no range, memory that was not measured) are null. `about` is the text of
/// Model::describe(). Local.
std::string model_json(const Job& job, const std::string& file, const Model& model,
                       const nlohmann::json& about, const CaseSummary& check,
                       const PlanMemory& memory);
std::string build_json(const Context& context);

/// Returns the card without its checksums, indented, for an editor and `convert --card`.
std::string card_json(const nlohmann::json& card);

}  // namespace surrogate::tool
