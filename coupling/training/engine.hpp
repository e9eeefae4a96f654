// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <surrogate/surrogate.hpp>
#include <surrogate/surrogate_train.hpp>
#include <tuple>
#include <vector>

#include "coupling/job/job.hpp"
#include "coupling/training/card.hpp"
#include "coupling/training/config.hpp"
#include "coupling/training/data.hpp"
#include "coupling/training/sample.hpp"

namespace surrogate::tool {

/// Ranks in groups: each works on samples of its own, which its ranks share.
struct RankGroup {
    int n = 1;      ///< groups
    int index = 0;  ///< of this rank's
    int rank = 0;   ///< in the group
    int size = 1;   ///< ranks of a group
};
/// Throws Failure if the number of ranks is no multiple of the groups.
RankGroup group_of(const Job& job, int64_t n_group);

/// Model, plan and trainer, and the arrays that hold one sample. All functions are collective over
/// the job; errors are Failure or Error, on all ranks.
class TrainEngine {
public:
    /// Trains a model of this card. Its weights are those of the configuration's file or, without
    /// one, drawn from its seed. n_step: optimiser steps of the whole training.
    TrainEngine(const Job& job, const Context& data_parallel, const TrainConfig& config,
                const TrainData& data, const ModelChannels& channels, const nlohmann::json& card,
                const DataStatistics& statistics, int64_t n_step);

    const RankGroup& group() const { return group_; }
    Trainer& trainer() { return *trainer_; }
    const Plan& plan() const { return *plan_; }
    const Model& model() const { return *model_; }

    /// Reads a pair and binds it. null: this group has none, and keeps what it has. n_own: the
    /// input is the model's own prediction, by so many leads from the true state before them.
    void load(const Pair* pair, const Change& change, int64_t n_own = 0);

private:
    using PointsKey = std::tuple<size_t, int64_t, int64_t>;

    PointsKey key_of(const Pair& pair) const;
    void make_model(const TrainConfig& config, const nlohmann::json& card);
    void make_domain(const Pair& pair);
    void make_trainer(const Context& data_parallel, const TrainConfig& config,
                      const DataStatistics& statistics, int64_t n_step);
    void read_place(const Pair& pair);
    void follow(const Pair& pair);
    void settle(const Pair* pair, bool is_moving);
    void read_fields(const Pair& pair, const Change& change, int64_t n_own);
    void bind_own_outputs();
    std::vector<std::vector<std::vector<double>>> read_given(const Pair& pair, const Change& change,
                                                             int64_t n) const;
    void roll_out(const Pair* pair, const Change& change, int64_t n);
    void bind(const Pair& pair);

    const Job& job_;
    const TrainData& data_;
    const ModelChannels& channels_;
    RankGroup group_;
    Context context_;  ///< of the group
    bool has_lattice_loss_ = false;
    bool is_new_place_ = true;  ///< the trainer does not know of it yet

    std::optional<PointsKey> key_;  ///< whose points the domain has
    PointRange range_;
    std::vector<double> points_, weights_;
    std::vector<int64_t> ids_;
    std::vector<std::vector<double>> inputs_, targets_;  ///< by channel
    bool rolls_out_ = false;
    std::vector<std::vector<double>> own_;  ///< predictions that are stepped from, by output

    std::optional<Model> model_;
    std::optional<Domain> domain_;
    std::optional<Plan> plan_;
    std::optional<Trainer> trainer_;  ///< goes before the plan
};

}  // namespace surrogate::tool
