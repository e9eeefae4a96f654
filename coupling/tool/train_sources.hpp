// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "coupling/job/job.hpp"
#include "coupling/training/card.hpp"
#include "coupling/training/config.hpp"
#include "coupling/training/data.hpp"

namespace surrogate::tool {

/// Data sets and model of a training, checked against each other and the configuration.
struct TrainSources {
    std::unique_ptr<TrainData> data;
    std::optional<Model> start;  ///< model of the configuration's file
    ModelChannels channels;
};

/// Opens the files of the configuration and checks what can be checked before numbers are read.
/// Collective. Throws Failure or Error, on all ranks with the same text.
TrainSources open_sources(const Job& job, const Context& data_parallel, const TrainConfig& config);

/// Checks for zero targets, because relative errors divide by the norm of the target. Samples that
/// are zero at all points are reported before the first step: as an error if the loss is relative,
/// otherwise as a warning for held-out samples. Returns the flags of the held-out pairs
/// (find_zero_targets). Collective.
std::vector<bool> check_zero_targets(const Job& job, const Context& data_parallel,
                                     const TrainConfig& config, const TrainSources& sources,
                                     std::vector<std::string>* warnings);

/// Returns the origin of a model for its card: program, date, configuration (`text`), and the
/// hashes of all files. Throws Failure if two data sets have the same content. Collective.
nlohmann::json provenance_of(const Job& job, const TrainConfig& config, const std::string& text);

}  // namespace surrogate::tool
