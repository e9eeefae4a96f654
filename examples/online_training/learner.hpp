// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <petscdm.h>

#include <optional>
#include <string>
#include <surrogate/surrogate_timeloop.hpp>
#include <surrogate/surrogate_train.hpp>
#include <vector>

namespace darcy {

/// A FLARE that learns pressures while a solver finds them: a time loop with guard rails predicts,
/// a trainer on another plan of the same model learns. Everything in reproducible mode. Functions
/// are collective and throw surrogate::Error.
class Learner {
public:
    struct Settings {
        std::string model;  ///< file to start from; "": weights drawn from the seed
        int64_t seed = 0;
        int64_t reservoir = 256;      ///< samples kept
        int64_t steps_per_state = 4;  ///< of the optimiser
        double learning_rate = 2e-3;
        int64_t widen_every = 96;  ///< states learnt until the ranges of the card grow to them
    };

    /// n_local: cells of this rank, in the order of the DM's vectors.
    Learner(DM dm, int64_t n_local, const Settings& settings);

    /// The pressure that the network makes of a mobility; false: a guard rail refuses it.
    bool predict(double dt_s, const std::vector<double>& mobility, std::vector<double>* pressure);

    /// Takes a solved state into the reservoir, and learns. Returns the mean loss of the steps.
    double learn(const std::vector<double>& mobility, const std::vector<double>& pressure);

    /// After every `widen_every` states: the guard rails trust what was learnt since. Returns how
    /// many ranges have grown; the loop compares with them from its next step on.
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
