// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "coupling/job/job.hpp"
#include "coupling/training/card.hpp"
#include "coupling/training/config.hpp"
#include "coupling/training/data.hpp"
#include "coupling/training/engine.hpp"
#include "coupling/training/folder.hpp"
#include "coupling/training/history.hpp"
#include "coupling/training/progress.hpp"
#include "coupling/training/signals.hpp"

namespace surrogate::tool {

/// References to all parts of a training; must outlive its run.
struct TrainParts {
    const Job& job;
    const Context& data_parallel;
    const TrainConfig& config;
    const TrainData& data;
    const ModelChannels& channels;
    TrainFolder& folder;
    const nlohmann::json& card;         ///< card of the models, without results of the training
    const nlohmann::json& provenance;   ///< origin of the models
    const nlohmann::json& fingerprint;  ///< see fingerprint.hpp
    TrainEngine& engine;
    const std::vector<bool>& zero_targets;  ///< for validation pairs; see find_zero_targets
    bool is_quiet;
};

/// Returns the name of the loss of a training; the default if the key is missing.
std::string loss_of(const TrainConfig& config);

/// Returns true if the loss has errors of outputs: the channels of an embedding have none.
bool has_errors(const TrainConfig& config);

/// Runs epochs and validations and writes checkpoints. All functions are collective over the job;
/// errors are Failure or Error, on all ranks.
class TrainRun {
public:
    explicit TrainRun(const TrainParts& parts);

    /// Continues from the checkpoint in the folder. Throws Failure with a list of all differences.
    void resume();

    /// Runs the remaining epochs. Returns `success`, or `stopped` after a signal.
    Exit run();

    /// Returns true if early stopping ends the training: the validation loss has not improved in
    /// the last epochs.
    bool has_stalled() const;
    const TrainHistory& history() const { return history_; }
    int64_t n_batch() const { return n_batch_; }

private:
    Exit finish(Exit status);
    bool must_stop() const;
    void learn(const std::vector<int64_t>& order);
    std::string samples_of_batch(const std::vector<int64_t>& order) const;
    void end_epoch();
    void save();
    void validate(EpochRow* row);
    std::vector<double> mean_errors(const std::vector<double>& errors, size_t n_output) const;
    void write_curves();
    void write_models(bool is_final);
    void write_model(const std::string& path, WeightSet which, const EpochRow* row, bool is_final);
    void write_checkpoint();
    std::string note() const;
    void read_note(const std::string& text);
    std::string card_text(const EpochRow* row) const;

    TrainParts parts_;
    StopRequests stop_;
    TrainHistory history_;
    std::string date_;  ///< date of the start, so that models written again have equal bytes
    int64_t n_batch_;   ///< per epoch
    // Progress of the training: complete epochs, batches of the next epoch.
    int64_t epoch_ = 0, batch_ = 0, step_ = 0;
    double loss_sum_ = 0;
    int64_t n_loss_ = 0;
    surrogate_step_report report_{};
    TrainProgress* progress_ = nullptr;
};

}  // namespace surrogate::tool
