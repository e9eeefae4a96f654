// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <surrogate/surrogate.hpp>
#include <vector>

#include "coupling/training/config.hpp"
#include "coupling/training/data.hpp"
#include "coupling/training/statistics.hpp"

namespace surrogate::tool {

/// The card of a new network: names, roles and units from the data; means, deviations, ranges and
/// pooled statistics from the samples. normalise=false: means 0, deviations 1.
nlohmann::json new_card(const TrainConfig& config, const std::vector<Channel>& inputs,
                        const std::vector<Channel>& outputs, const DataStatistics& statistics);

/// The card of a model that is trained further. With normalise=true it gets the data's means,
/// deviations, ranges and pooled statistics; else it keeps its own, its ranges grow to hold the
/// data, and its pooled statistics are the data's. Throws Failure if the data lie outside of its
/// ranges altogether: other units, another field. Adds to `warnings` what lies partly outside.
nlohmann::json adapted_card(const Model& model, const TrainConfig& config,
                            const std::vector<Channel>& inputs, const std::vector<Channel>& outputs,
                            const DataStatistics& statistics, std::vector<std::string>* warnings);

/// The channels of a model, found in the data; units are compared when they are bound. Throws
/// Failure.
struct ModelChannels {
    std::vector<Channel> inputs, outputs;
};
ModelChannels channels_of(const Model& model, const TrainData& data);
ModelChannels channels_of(const TrainConfig& config, const TrainData& data);

/// Returns the card of a new network before numbers are read: names, roles and units from the data,
/// neutral statistics. A network of this card has the weights of the one that new_card describes.
nlohmann::json trial_card(const TrainConfig& config, const ModelChannels& channels);

/// Returns "2026-11-22T22:30:21Z": now, or the time of the environment variable SOURCE_DATE_EPOCH.
/// Throws Failure if that is no number of seconds up to the year 9999.
std::string date_text();

}  // namespace surrogate::tool
