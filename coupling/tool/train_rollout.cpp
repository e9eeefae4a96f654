// SPDX-License-Identifier: Apache-2.0
#include "coupling/tool/train_rollout.hpp"

#include <algorithm>

#include "coupling/tool/job.hpp"
#include "coupling/tool/output.hpp"
#include "coupling/tool/text.hpp"
#include "coupling/tool/train_engine.hpp"

namespace surrogate::tool {

namespace {

[[noreturn]] void refuse(int64_t rollout, const std::string& text) {
    throw Failure(Exit::bad_usage, "rollout = " + std::to_string(rollout) + ": " + text);
}

int64_t lead_of(const Pair& pair) {
    return pair.target.time - pair.input.time;
}

/// The input that takes an output; none: -1.
int64_t input_of(const ModelChannels& channels, const Channel& output) {
    const auto& inputs = channels.inputs;
    const auto found = std::find_if(inputs.begin(), inputs.end(), [&](const Channel& input) {
        return input.name == output.name && input.stored == output.stored;
    });
    return found == inputs.end() ? -1 : found - inputs.begin();
}

}  // namespace

void check_rollout(int64_t rollout, const TrainData& data, const ModelChannels& channels) {
    if (rollout == 1) return;
    if (!data.form().is_series)
        refuse(rollout, "data set '" + data.file(0).path() +
                            "' has no axis time; a model steps from its own predictions in series");
    if (!data.has_fixed_points())
        refuse(rollout, "the points of data set '" + data.file(0).path() +
                            "' move, and predictions do not move with them");
    for (const Channel& output : channels.outputs)
        if (input_of(channels, output) < 0)
            refuse(rollout, "output '" + one_line(output.name, 60) +
                                "' is no input, so that the model cannot step from it");
}

int64_t most_own_leads(int64_t rollout, const Pair& pair) {
    const int64_t lead = std::max<int64_t>(lead_of(pair), 1);
    return std::min(rollout - 1, pair.input.time / lead);
}

int64_t random_own_leads(int64_t rollout, const Pair& pair, int64_t seed, int64_t epoch,
                         int64_t index) {
    if (rollout == 1) return 0;
    const uint64_t key = mixed(static_cast<uint64_t>(seed), static_cast<uint64_t>(epoch), 5);
    const uint64_t chance = mixed(key, static_cast<uint64_t>(index), 6);
    const auto drawn = static_cast<int64_t>(chance % static_cast<uint64_t>(rollout));
    return std::min(drawn, most_own_leads(rollout, pair));
}

dataset::State earlier(const Pair& pair, int64_t n) {
    return {pair.input.sample, pair.input.time - n * lead_of(pair)};
}

/// Where the model writes what it steps from. Local.
void TrainEngine::bind_own_outputs() {
    own_.resize(channels_.outputs.size());
    for (size_t i = 0; i < own_.size(); ++i) {
        const Channel& channel = channels_.outputs[i];
        own_[i].resize(static_cast<size_t>(range_.n));
        plan_->bind_output(channel.name, column(own_[i].data(), range_.n), channel.unit.c_str());
    }
}

/// Inputs that the model does not predict, at the ends of n leads of its own: by lead, channel.
/// Local.
std::vector<std::vector<std::vector<double>>> TrainEngine::read_given(const Pair& pair,
                                                                      const Change& change,
                                                                      int64_t n) const {
    std::vector<std::vector<std::vector<double>>> given(static_cast<size_t>(n));
    for (int64_t lead = 0; lead < n; ++lead) {
        auto& fields = given[static_cast<size_t>(lead)];
        fields.resize(channels_.inputs.size());
        for (size_t i = 0; i < fields.size(); ++i) {
            const Channel& channel = channels_.inputs[i];
            const auto is_this = [&](const Channel& output) { return output.name == channel.name; };
            if (channel.is_coordinate() ||
                std::any_of(channels_.outputs.begin(), channels_.outputs.end(), is_this))
                continue;
            fields[i] = read_range(data_.file(pair.file), channel.stored,
                                   earlier(pair, n - 1 - lead), change, range_);
        }
    }
    return given;
}

/// From the inputs that are bound to the model's own, n leads later. All ranks of a group fail alike
/// in the runs, so that nobody waits.
void TrainEngine::roll_out(const Pair* pair, const Change& change, int64_t n) {
    std::vector<std::vector<std::vector<double>>> given;
    job_.agree([&] {
        if (pair == nullptr) return;
        bind_own_outputs();
        given = read_given(*pair, change, n);
    });
    job_.agree([&] {
        try {
            for (const auto& fields : given) {
                plan_->run();
                for (size_t o = 0; o < own_.size(); ++o) {
                    const int64_t to = input_of(channels_, channels_.outputs[o]);
                    inputs_[static_cast<size_t>(to)].assign(own_[o].begin(), own_[o].end());
                }
                for (size_t i = 0; i < fields.size(); ++i)
                    if (!fields[i].empty()) inputs_[i].assign(fields[i].begin(), fields[i].end());
            }
        } catch (const Error& error) {
            throw Failure(job_.exit_status(error),
                          "the model's own prediction cannot be stepped from, within " +
                              std::to_string(n) + " leads before time " +
                              std::to_string(pair->input.time) + " of sample " +
                              std::to_string(pair->input.sample) + " of '" +
                              data_.file(pair->file).path() + "': " + error.what() +
                              "\nWhat was written before stays; a smaller 'rollout' or "
                              "'learning_rate' may help");
        }
    });
}

}  // namespace surrogate::tool
