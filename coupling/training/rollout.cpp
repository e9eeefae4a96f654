// SPDX-License-Identifier: Apache-2.0
#include "coupling/training/rollout.hpp"

#include <algorithm>

#include "coupling/job/job.hpp"
#include "coupling/job/output.hpp"
#include "coupling/job/text.hpp"
#include "coupling/training/sample.hpp"

namespace surrogate::tool {

namespace {

[[noreturn]] void refuse(int64_t rollout, const std::string& text) {
    throw Failure(Exit::bad_usage, "rollout = " + std::to_string(rollout) + ": " + text);
}

int64_t lead_of(const Pair& pair) {
    return pair.target.time - pair.input.time;
}

}  // namespace

int64_t input_of(const ModelChannels& channels, const Channel& output) {
    const auto& inputs = channels.inputs;
    const auto found = std::find_if(inputs.begin(), inputs.end(), [&](const Channel& input) {
        return input.name == output.name && input.stored == output.stored;
    });
    return found == inputs.end() ? -1 : found - inputs.begin();
}

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
                                "' is not an input, so the model cannot step from it");
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

}  // namespace surrogate::tool
