// SPDX-License-Identifier: Apache-2.0
#include "coupling/training/card.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <nlohmann/json.hpp>
#include <string_view>

#include "coupling/job/classes.hpp"
#include "coupling/job/job.hpp"
#include "coupling/job/output.hpp"
#include "coupling/job/text.hpp"
#include "coupling/training/labels.hpp"
#include "coupling/training/pooled.hpp"
#include "coupling/training/run.hpp"

namespace surrogate::tool {

namespace {

using nlohmann::json;

json card_field(const Channel& channel, const ChannelStatistics& found, bool is_normalized,
                bool is_input) {
    if (channel.is_integer)
        return {{"name", channel.name}, {"unit", channel.unit}, {"mean", 0.0}, {"std", 1.0}};
    json field = {{"name", channel.name},
                  {"unit", channel.unit},
                  {"mean", is_normalized ? found.mean : 0.0},
                  {"std", is_normalized ? found.std : 1.0},
                  {"min", found.min},
                  {"max", found.max}};
    if (channel.is_coordinate()) {
        field["role"] = "coordinate";
        field["axis"] = channel.axis;
    } else if (channel.is_per_sample && is_input) {
        field["role"] = "cloud";
    }
    return field;
}

/// Makes an output of the card a class. Its mean and deviation stay, which must be 0 and 1.
void make_class(json* output) {
    output->update({{"role", "class"}, {"unit", "1"}});
    for (const char* key : {"min", "max"}) output->erase(key);
}

/// Returns an output without statistics: a class, or a coordinate of an embedding.
json unscaled_field(const std::string& name, bool is_class) {
    json field = {{"name", name}, {"unit", ""}, {"mean", 0.0}, {"std", 1.0}};
    if (is_class) make_class(&field);
    return field;
}

std::vector<double> numbers_of(const json& fields, const char* key) {
    std::vector<double> values;
    for (const json& field : fields) values.push_back(field.at(key).get<double>());
    return values;
}

void add_pooled(json* card, const std::vector<Channel>& inputs, const DataStatistics& statistics) {
    const json& fields = card->at("inputs");
    const json pooled = pooled_statistics(inputs, statistics, numbers_of(fields, "mean"),
                                          numbers_of(fields, "std"));
    card->erase("pooled");
    if (!pooled.is_null()) (*card)["pooled"] = pooled;
}

std::string range_text(double low, double high) {
    return number(low) + " .. " + number(high);
}

/// Compares the data with the card's range of a field, and extends the range to cover them.
void widen(json* field, const Channel& channel, const ChannelStatistics& found,
           std::vector<std::string>* warnings) {
    if (!field->contains("min") || !field->contains("max")) return;
    const double low = field->at("min").get<double>(), high = field->at("max").get<double>();
    const std::string text = "'" + one_line(channel.name, 60) + "' is " +
                             range_text(found.min, found.max) + " in the training set, " +
                             range_text(low, high) + " on the model's card";
    if (found.max < low || found.min > high)
        throw Failure(Exit::bad_usage,
                      text +
                          ": is it the same quantity, in the same unit? With normalize = true in "
                          "[data] the model uses the statistics of the data");
    if (found.min < low || found.max > high) warnings->push_back(text + ": the range grows");
    (*field)["min"] = std::min(low, found.min);
    (*field)["max"] = std::max(high, found.max);
}

void renew(json* field, const ChannelStatistics& found) {
    (*field)["mean"] = found.mean;
    (*field)["std"] = found.std;
    (*field)["min"] = found.min;
    (*field)["max"] = found.max;
}

void adapt(json* fields, const std::vector<Channel>& channels,
           const std::vector<ChannelStatistics>& found, bool is_renewed,
           std::vector<std::string>* warnings) {
    for (size_t i = 0; i < channels.size(); ++i) {
        if (channels[i].is_integer) continue;
        if (is_renewed)
            renew(&fields->at(i), found[i]);
        else
            widen(&fields->at(i), channels[i], found[i], warnings);
    }
}

/// Checks that an input is one number per sample in the data if it is one per cloud on the card.
void check_is_per_sample(const surrogate_field_info& info, const Channel& channel,
                         const TrainData& data) {
    const bool is_number = info.role == SURROGATE_CLOUD;
    if (channel.is_per_sample == is_number) return;
    const std::string input = "input '" + one_line(info.name, 60) + "' of the model is ";
    const std::string stored = "'" + one_line(channel.stored, 60) + "' in data set '" +
                               data.file(0).path() + "' has one number per ";
    if (is_number)
        fail(input + "one number per cloud, and " + stored + "point, expected one per sample");
    fail(input + "a field at points, and " + stored + "sample\n" +
         data.file(0).why_no_field(channel.stored));
}

Channel channel_of(const surrogate_field_info& info, const TrainData& data, bool is_input) {
    if (info.role != SURROGATE_COORDINATE) {
        const Channel channel = data.channel(info.name, is_input);
        if (is_input && !channel.is_coordinate()) check_is_per_sample(info, channel, data);
        if (!channel.is_coordinate()) return channel;
    }
    const auto& coordinates = data.form().coordinates;
    for (const auto& coordinate : coordinates)
        if (info.role == SURROGATE_COORDINATE && coordinate.axis == info.axis)
            return {info.name, coordinate.name, coordinate.unit, coordinate.axis};
    throw Failure(Exit::bad_usage,
                  "the model takes '" + one_line(info.name, 60) +
                      (info.role == SURROGATE_COORDINATE
                           ? "', coordinate " + std::to_string(info.axis) + "; the data have " +
                                 std::to_string(coordinates.size())
                           : "' as a field; in the data it is a coordinate"));
}

/// Returns the card of a new network, without statistics of whole samples.
json card_without_pooled(const TrainConfig& config, const std::vector<Channel>& inputs,
                         const std::vector<Channel>& outputs, const DataStatistics& statistics) {
    const bool is_normalized = config.data.normalize.value_or(true);
    json card = {{"format", 1},
                 {"family", config.model.family},
                 {"network", json::parse(config.model.hyperparameters)},
                 {"inputs", json::array()},
                 {"outputs", json::array()}};
    for (size_t i = 0; i < inputs.size(); ++i)
        card["inputs"].push_back(card_field(inputs[i], statistics.inputs[i], is_normalized, true));
    for (size_t i = 0; i < outputs.size(); ++i)
        card["outputs"].push_back(
            statistics.outputs.empty()
                ? unscaled_field(outputs[i].name, uses_classes(loss_of(config)))
                : card_field(outputs[i], statistics.outputs[i], is_normalized, false));
    return card;
}

}  // namespace

json trial_card(const TrainConfig& config, const ModelChannels& channels) {
    ChannelStatistics unit;
    unit.min = 0;
    unit.max = 1;
    DataStatistics statistics;
    statistics.inputs.assign(channels.inputs.size(), unit);
    statistics.outputs.assign(channels.fields().size(), unit);
    return card_without_pooled(config, channels.inputs, channels.outputs, statistics);
}

json new_card(const TrainConfig& config, const std::vector<Channel>& inputs,
              const std::vector<Channel>& outputs, const DataStatistics& statistics) {
    json card = card_without_pooled(config, inputs, outputs, statistics);
    add_pooled(&card, inputs, statistics);
    return card;
}

json adapted_card(const Model& model, const TrainConfig& config, const std::vector<Channel>& inputs,
                  const std::vector<Channel>& outputs, const DataStatistics& statistics,
                  std::vector<std::string>* warnings) {
    json card = json::parse(model.describe()).at("card");
    const bool is_renewed = config.data.normalize.value_or(false);
    adapt(&card.at("inputs"), inputs, statistics.inputs, is_renewed, warnings);
    if (uses_classes(loss_of(config)))
        for (json& output : card.at("outputs")) make_class(&output);
    else if (are_classes(model.outputs()))
        throw Failure(Exit::bad_usage,
                      "the outputs of the model are classes, expected loss = "
                      "\"cross_entropy\" or \"focal\"");
    else if (!statistics.outputs.empty())
        adapt(&card.at("outputs"), outputs, statistics.outputs, is_renewed, warnings);
    add_pooled(&card, inputs, statistics);
    card.erase("checksums");
    return card;
}

ModelChannels channels_of(const Model& model, const TrainData& data) {
    ModelChannels channels;
    channels.labels = data.labels();
    if (are_classes(model.outputs()) && !channels.labels)
        throw Failure(Exit::bad_usage,
                      "the outputs of the model are classes, and there are no labels; name the "
                      "integer variable with the class of each point ('labels' in [data] of a "
                      "training, --labels of evaluate)");
    for (const auto& info : model.inputs()) channels.inputs.push_back(channel_of(info, data, true));
    for (const auto& info : model.outputs())
        channels.outputs.push_back(channels.labels ? Channel{info.name, "", info.unit, -1}
                                                   : channel_of(info, data, false));
    if (channels.outputs.empty())
        throw Failure(Exit::bad_usage,
                      "the model's card names no fields, expected inputs and outputs for training");
    return channels;
}

ModelChannels channels_of(const TrainConfig& config, const TrainData& data) {
    ModelChannels channels;
    for (const auto& name : config.model.inputs)
        channels.inputs.push_back(data.channel(name, true));
    channels.labels = data.labels();
    for (const auto& name : config.model.outputs)
        channels.outputs.push_back(channels.labels ? Channel{name, "", "", -1}
                                                   : data.channel(name, false));
    return channels;
}

void check_ports(const Model& model, const ModelChannels& channels, const TrainData& data) {
    const std::string set = " in data set '" + data.file(0).path() + "'";
    const auto check_input = [&](const Channel& channel, bool takes_integers) {
        if (channel.is_integer == takes_integers) return;
        const std::string name = "'" + one_line(channel.stored, 60) + "'";
        if (takes_integers)
            fail("input '" + one_line(channel.name, 60) + "' of the network is an integer, and " +
                 name + set + " holds real numbers");
        fail("input '" + one_line(channel.name, 60) + "' of the network is a real number, and " +
             name + set + " holds integers\n" + data.file(0).why_no_field(channel.stored));
    };
    const auto check_target = [&](const Channel& channel, int32_t location) {
        const std::string name = "'" + one_line(channel.stored, 60) + "'" + set;
        if (location == SURROGATE_ON_NODES)
            fail(
                "the network has a row for each node of its tree, expected rows of points or "
                "clouds for training; change its read-out");
        if (location == SURROGATE_ON_CLOUDS && !channel.is_per_sample)
            fail(
                "the network has one row per cloud, expected one number per sample, over "
                "'sample', or per cloud, over 'sample' and 'cloud'; " +
                name + " has one per point");
        if (location != SURROGATE_ON_CLOUDS && channel.is_per_sample)
            fail("the network has one row per point; " + name + " has one number per sample\n" +
                 data.file(0).why_no_field(channel.stored));
    };
    size_t in = 0, out = 0;
    for (const auto& port : model.ports()) {
        for (int64_t c = 0; c < port.n_channel; ++c) {
            if (port.is_output == 0)
                check_input(channels.inputs.at(in++), port.kind == SURROGATE_INTEGER);
            else
                check_target(channels.labels ? *channels.labels : channels.outputs.at(out++),
                             port.location);
        }
    }
}

std::string date_text() {
    constexpr int64_t latest = 253402300799;  // the last second of the year 9999
    int64_t seconds = std::time(nullptr);
    if (const char* const fixed = std::getenv("SOURCE_DATE_EPOCH")) {
        const std::string_view text = fixed;
        const auto end = std::from_chars(text.data(), text.data() + text.size(), seconds);
        if (end.ec != std::errc() || end.ptr != text.data() + text.size() || seconds < 0 ||
            seconds > latest)
            throw Failure(Exit::bad_usage, "SOURCE_DATE_EPOCH is '" + one_line(text) +
                                               "', expected an integer from 0 to " +
                                               std::to_string(latest) +
                                               ", the seconds since 1970; correct it or unset it");
    }
    const std::time_t time = seconds;
    std::tm parts{};
    gmtime_r(&time, &parts);
    std::array<char, 32> text{};
    std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
    return text.data();
}

}  // namespace surrogate::tool
