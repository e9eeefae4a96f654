// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <surrogate/surrogate.hpp>
#include <vector>

#include "coupling/training/config.hpp"
#include "coupling/training/data.hpp"
#include "coupling/training/statistics.hpp"

namespace surrogate::tool {

/// Returns the card of a new network: names, roles and units from the data; means, deviations,
/// ranges and pooled statistics from the samples. Without normalization, means are 0 and deviations
/// 1. Outputs without statistics, which are classes or an embedding, have mean 0, deviation 1
/// and no range.
nlohmann::json new_card(const TrainConfig& config, const std::vector<Channel>& inputs,
                        const std::vector<Channel>& outputs, const DataStatistics& statistics);

/// Returns the card of a model that is trained further. With normalization it gets the means,
/// deviations, ranges and pooled statistics of the data. Otherwise it keeps its means and
/// deviations, its ranges are extended to cover the data, and its pooled statistics are computed
/// from the data. Throws Failure if the data are completely outside its ranges, which indicates
/// other units or another field. Adds a line to `warnings` for each field that is partly outside.
nlohmann::json adapted_card(const Model& model, const TrainConfig& config,
                            const std::vector<Channel>& inputs, const std::vector<Channel>& outputs,
                            const DataStatistics& statistics, std::vector<std::string>* warnings);

/// The channels of a model, found in the data. Their units are compared when they are bound.
/// Outputs of a classifier are its classes, which have no variable of their own. Throws Failure.
struct ModelChannels {
    std::vector<Channel> inputs, outputs;
    std::optional<Channel> labels;  ///< of a classifier: the variable with the class of each point
    /// Returns the outputs whose targets are fields in the data; none for a classifier.
    std::vector<Channel> fields() const { return labels ? std::vector<Channel>() : outputs; }
    /// Returns true if the targets are one number, or one label, per sample.
    bool is_pooled() const {
        return labels ? labels->is_per_sample : !outputs.empty() && outputs[0].is_per_sample;
    }
};
ModelChannels channels_of(const Model& model, const TrainData& data);
ModelChannels channels_of(const TrainConfig& config, const TrainData& data);

/// Checks that the network takes and predicts what the data have: integers or real numbers, one row
/// per point or per cloud. Throws Failure.
void check_ports(const Model& model, const ModelChannels& channels, const TrainData& data);

/// Returns the card of a new network before numbers are read: names, roles and units from the data,
/// neutral statistics. A network of this card has the same weights as a network of new_card().
nlohmann::json trial_card(const TrainConfig& config, const ModelChannels& channels);

/// Returns a time such as "2026-11-22T22:30:21Z": the current time, or the time of the environment
/// variable SOURCE_DATE_EPOCH. Throws Failure if the variable is not a number of seconds up to the
/// year 9999.
std::string date_text();

}  // namespace surrogate::tool
