// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <petscdm.h>

#include <optional>
#include <string>
#include <surrogate/surrogate_timeloop.hpp>
#include <surrogate/surrogate_train.hpp>
#include <vector>

namespace darcy {

/// Trains a FLARE on pressures while a solver computes them: a time loop with guardrails predicts,
/// a trainer on another plan of the same model trains. All in reproducible mode. Functions are
/// collective and throw surrogate::Error.
class Learner {
public:
    struct Settings {
        std::string model;  ///< file to start from; "": weights drawn from the seed
        int64_t seed = 0;
        int64_t reservoir = 256;      ///< number of stored samples
        int64_t steps_per_state = 4;  ///< of the optimizer
        double learning_rate = 2e-3;
        int64_t widen_every = 96;  ///< trained states between extensions of the ranges of the card
    };

    /// Creates the network. n_local: cells of this rank, in the order of the DM's vectors.
    Learner(DM dm, int64_t n_local, const Settings& settings);

    /// Predicts the pressure of a mobility; returns false if a guardrail rejects it.
    bool predict(double dt_s, const std::vector<double>& mobility, std::vector<double>* pressure);

    /// Adds a solved state to the reservoir, and trains. Returns the mean loss of the steps.
    double learn(const std::vector<double>& mobility, const std::vector<double>& pressure);

    /// Extends the ranges of the card after every `widen_every` states to the data used in training
    /// since. Returns the number of extended ranges; the loop uses them from its next step on.
    int32_t widen_ranges_if_due();

    void save(const std::string& path) { trainer_->save_model(path); }
    std::string describe() const { return trainer_->describe(); }
    std::string report() const { return loop_->report(); }

private:
    Settings settings_;
    int64_t n_learnt_ = 0;
    std::vector<double> mobility_, prediction_, solved_;
    std::optional<surrogate::Context> context_;
    std::optional<surrogate::Model> model_;
    std::optional<surrogate::Domain> domain_;
    std::optional<surrogate::Plan> plan_, learning_plan_;
    std::optional<surrogate::TimeLoop> loop_;
    std::optional<surrogate::Trainer> trainer_;
};

}  // namespace darcy
