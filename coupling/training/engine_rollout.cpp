// SPDX-License-Identifier: Apache-2.0
// Steps of a model from its own predictions.
#include <algorithm>

#include "coupling/training/engine.hpp"
#include "coupling/training/rollout.hpp"

namespace surrogate::tool {

/// Binds the model's outputs to the inputs of its next step. Local.
void TrainEngine::bind_own_outputs() {
    own_.resize(channels_.outputs.size());
    for (size_t i = 0; i < own_.size(); ++i) {
        const Channel& channel = channels_.outputs[i];
        own_[i].resize(static_cast<size_t>(domain_.n()));
        plan_->bind_output(channel.name, column(own_[i].data(), domain_.n()), channel.unit.c_str());
    }
}

/// Returns the inputs that the model does not predict, at the ends of n leads of its own, by lead
/// and channel. Local.
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
                                   earlier(pair, n - 1 - lead), change, domain_.range());
        }
    }
    return given;
}

/// Replaces the bound inputs by the model's prediction n leads later. Errors of the runs are the
/// same on all ranks of a group, so no rank blocks.
void TrainEngine::roll_out(const std::vector<Draw>& draws) {
    const Pair* const pair = draws.empty() ? nullptr : draws[0].pair;
    const int64_t n = draws.empty() ? 0 : draws[0].n_own;
    std::vector<std::vector<std::vector<double>>> given;
    job_.agree([&] {
        if (pair == nullptr) return;
        bind_own_outputs();
        given = read_given(*pair, draws[0].change, n);
    });
    job_.agree([&] {
        try {
            for (const auto& fields : given) {
                plan_->run();
                for (size_t o = 0; o < own_.size(); ++o) {
                    const int64_t to = input_of(channels_, channels_.outputs[o]);
                    inputs_.real()[static_cast<size_t>(to)].assign(own_[o].begin(), own_[o].end());
                }
                for (size_t i = 0; i < fields.size(); ++i)
                    if (!fields[i].empty())
                        inputs_.real()[i].assign(fields[i].begin(), fields[i].end());
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
