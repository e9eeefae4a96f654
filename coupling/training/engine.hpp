// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <surrogate/surrogate.hpp>
#include <surrogate/surrogate_train.hpp>
#include <vector>

#include "coupling/job/job.hpp"
#include "coupling/training/card.hpp"
#include "coupling/training/config.hpp"
#include "coupling/training/data.hpp"
#include "coupling/training/sample_domain.hpp"
#include "coupling/training/sample_inputs.hpp"

namespace surrogate::tool {

/// Ranks in groups. Each group works on its own samples; the ranks of a group share a sample.
struct RankGroup {
    int n = 1;      ///< number of groups
    int index = 0;  ///< group of this rank
    int rank = 0;   ///< rank in the group
    int size = 1;   ///< ranks per group
};
/// Throws Failure if the number of ranks is not a multiple of the number of groups.
RankGroup group_of(const Job& job, int64_t n_group);

/// Owns model, plan and trainer, and the arrays of one sample. All functions are collective over
/// the job; errors are Failure or Error, on all ranks.
class TrainEngine {
public:
    /// Prepares a model of this card for training. The weights come from the file of the
    /// configuration or, without a file, from the random seed. `n_step` is the number of optimizer
    /// steps of the whole training.
    TrainEngine(const Job& job, const Context& data_parallel, const TrainConfig& config,
                const TrainData& data, const ModelChannels& channels, const nlohmann::json& card,
                const DataStatistics& statistics, int64_t n_step);

    const RankGroup& group() const { return group_; }
    Trainer& trainer() { return *trainer_; }
    const Plan& plan() const { return *plan_; }
    const Model& model() const { return *model_; }

    /// Returns the number of samples of a batch that load() takes at once, a divisor of the samples
    /// of a group. Several are clouds of one domain, so that all threads compute small samples.
    int64_t n_at_once() const { return n_at_once_; }

    /// Reads samples and binds them: n_at_once() or fewer; none: this group has no sample, and its
    /// arrays stay unchanged.
    void load(const std::vector<Draw>& draws);

private:
    void make_model(const TrainConfig& config, const nlohmann::json& card);
    void make_trainer(const Context& data_parallel, const TrainConfig& config,
                      const DataStatistics& statistics, int64_t n_step);
    void settle(const std::vector<Draw>& draws, bool is_moving);
    void read_fields(const std::vector<Draw>& draws);
    void read_weights(const std::vector<Draw>& draws);
    void bind_own_outputs();
    std::vector<std::vector<std::vector<double>>> read_given(const Pair& pair, const Change& change,
                                                             int64_t n) const;
    void roll_out(const std::vector<Draw>& draws);
    void bind(const Pair& pair);
    /// Returns the number of targets of each output on this rank.
    int64_t n_target() const { return channels_.is_pooled() ? domain_.n_clouds() : domain_.n(); }
    /// Returns the values of this rank's points, or the values of the clouds.
    template <class T>
    std::vector<T> targets_of(std::vector<T> values, size_t sample) const {
        return channels_.is_pooled() ? values : domain_.select(std::move(values), sample);
    }

    const Job& job_;
    const TrainData& data_;
    const ModelChannels& channels_;
    RankGroup group_;
    Context context_;  ///< context of the group
    int64_t n_at_once_;
    SampleDomain domain_;
    bool has_lattice_loss_ = false;
    bool is_new_place_ = true;  ///< the trainer has not seen the current points yet

    SampleInputs inputs_;
    std::vector<std::vector<double>> targets_;  ///< by output
    std::vector<int64_t> labels_;               ///< of a classifier
    std::vector<double> weights_;               ///< of the points, if the data have some
    bool has_new_weights_ = false;              ///< the trainer does not have them yet
    bool rolls_out_ = false;
    bool moves_points_ = false;  ///< the domain may change between samples
    std::vector<VectorFields> input_vectors_, target_vectors_;  ///< that are transformed with them
    std::vector<std::vector<double>>
        own_;  ///< predictions that the next step starts from, by output

    std::optional<Model> model_;
    std::optional<Plan> plan_;
    std::optional<Trainer> trainer_;  ///< destroyed before the plan
};

}  // namespace surrogate::tool
