// SPDX-License-Identifier: Apache-2.0
#include "coupling/training/engine.hpp"

#include <nlohmann/json.hpp>

#include "coupling/job/model_bytes.hpp"
#include "coupling/job/weighted_model.hpp"
#include "coupling/training/labels.hpp"
#include "coupling/training/rollout.hpp"

namespace surrogate::tool {

namespace {

using dataset::PointForm;

Options plan_options(const TrainConfig& config) {
    Options options{{"gradients", "true"}};
    for (const Setting& setting : config.options) options.set(setting.key, setting.value);
    return options;
}

bool is_value(const std::vector<Setting>& settings, const std::string& key,
              const std::string& value) {
    for (const Setting& setting : settings)
        if (setting.key == key) return setting.value == value;
    return false;
}

/// Returns settings of the trainer. Schedules get the length of the whole training.
TrainerOptions settings_of(const TrainConfig& config, int64_t n_step) {
    TrainerOptions training;
    for (const Setting& setting : config.training) training.set(setting.key, setting.value);
    training.set("seed", std::to_string(config.seed));
    training.set("accumulate", std::to_string(config.batch / config.n_group));
    if (is_value(config.training, "schedule", "one_cycle") ||
        is_value(config.training, "schedule", "cosine"))
        training.set("steps", std::to_string(n_step));
    return training;
}

}  // namespace

RankGroup group_of(const Job& job, int64_t n_group) {
    if (n_group > job.size() || job.size() % n_group != 0)
        throw Failure(Exit::bad_usage, "'groups' is " + std::to_string(n_group) + ", and " +
                                           std::to_string(job.size()) +
                                           " ranks are no multiple of that: start as many, or set "
                                           "'groups' to a divisor");
    const int size = job.size() / static_cast<int>(n_group);
    return {static_cast<int>(n_group), job.rank() / size, job.rank() % size, size};
}

TrainEngine::TrainEngine(const Job& job, const Context& data_parallel, const TrainConfig& config,
                         const TrainData& data, const ModelChannels& channels,
                         const nlohmann::json& card, const DataStatistics& statistics,
                         int64_t n_step)
    : job_(job),
      data_(data),
      channels_(channels),
      group_(group_of(job, config.n_group)),
      context_(job.make_group_context(group_.index)),
      domain_(data, group_.rank, group_.size, uses_point_weights(card)),
      inputs_(channels.inputs),
      rolls_out_(config.rollout > 1),
      moves_points_(config.data.n_drawn > 0 || config.data.augmentation.is_on() ||
                    !domain_.is_fixed() ||
                    ((uses_point_weights(card) || data.has_clouds()) &&
                     config.data.symmetries != Symmetry::none)),
      input_vectors_(vectors_of(channels.inputs)),
      target_vectors_(vectors_of(channels.fields())) {
    make_model(config, card);
    const Pair& first = data.training().front();
    job_.agree([&] { domain_.read(first); });
    job_.agree([&] { domain_.create(context_, first); });
    plan_.emplace(*model_, domain_.domain(), plan_options(config));
    make_trainer(data_parallel, config, statistics, n_step);
}

/// Broadcasts the weights from the first rank of each group, with the new card.
void TrainEngine::make_model(const TrainConfig& config, const nlohmann::json& card) {
    if (config.model.file.empty()) {
        model_.emplace(
            initialized_model(context_, card.dump(), config.seed, config.model.output_scale));
        return;
    }
    std::string bytes;
    job_.agree([&] {
        if (group_.rank != 0) return;
        ModelBytes start = ModelBytes::read(config.model.file);
        start.set_card(card.dump());
        start.remove_check_case();
        bytes = start.bytes();
    });
    model_.emplace(context_, bytes.data(), static_cast<int64_t>(bytes.size()));
}

void TrainEngine::make_trainer(const Context& data_parallel, const TrainConfig& config,
                               const DataStatistics& statistics, int64_t n_step) {
    const TrainerOptions settings = settings_of(config, n_step);
    if (group_.n == 1)
        trainer_.emplace(*plan_, settings);
    else
        trainer_.emplace(*plan_, data_parallel, settings);
    has_lattice_loss_ = is_value(config.training, "loss", "gradient_l2");
    for (const auto& [output, scale] : config.scale) trainer_->set_scale(output, scale);
    if (!config.class_weights.empty())
        trainer_->set_class_weights(class_weights(config, channels_));
    for (size_t i = 0; config.has_increment_scale && i < channels_.outputs.size(); ++i) {
        if (statistics.increments.empty())
            throw Failure(Exit::bad_usage,
                          "scale = \"increment\" is for series whose outputs are inputs too");
        trainer_->set_scale(channels_.outputs[i].name, statistics.increments[i]);
    }
}

void TrainEngine::read_fields(const Pair& pair, const Change& change, int64_t n_own) {
    const dataset::ReadFile& file = data_.file(pair.file);
    const dataset::State begin = earlier(pair, n_own);
    targets_.resize(channels_.labels ? 0 : channels_.outputs.size());
    inputs_.read(file, begin, change, domain_);
    if (channels_.labels)
        labels_ = targets_of(
            read_labels(file, channels_.labels->stored, pair.target, change, domain_.range()));
    for (size_t i = 0; i < targets_.size(); ++i)
        targets_[i] = targets_of(
            read_range(file, channels_.outputs[i].stored, pair.target, change, domain_.range()));
    if (!change.transform) return;
    transform_vectors(*change.transform, input_vectors_, &inputs_.real());
    transform_vectors(*change.transform, target_vectors_, &targets_);
}

/// Reads the weights of the sample's points; 1 in a file without weights. Local.
void TrainEngine::read_weights(const Pair& pair, const Change& change) {
    if (!data_.has_weights() || !domain_.read_weights(pair, change)) return;
    weights_ = domain_.weights();
    if (weights_.empty()) weights_.assign(static_cast<size_t>(domain_.n()), 1.0);
    has_new_weights_ = true;
}

/// Binds the arrays of the sample to plan and trainer. Local.
void TrainEngine::bind(const Pair& pair) {
    inputs_.bind(&*plan_, domain_);
    for (size_t i = 0; i < targets_.size(); ++i)
        trainer_->bind_target(channels_.outputs[i].name, column(targets_[i].data(), n_target()),
                              channels_.outputs[i].unit.c_str());
    if (channels_.labels) trainer_->bind_labels(column(labels_.data(), n_target()));
    if (has_new_weights_) trainer_->set_point_weights(column(weights_.data(), domain_.n()));
    has_new_weights_ = false;
    if (!is_new_place_) return;
    const auto extents = data_.file(pair.file).extents(pair.input.sample);
    if (has_lattice_loss_ && extents.size() == 2) trainer_->set_grid_shape(extents[0], extents[1]);
    is_new_place_ = false;
}

void TrainEngine::load(const Pair* pair, const Change& change, int64_t n_own) {
    const bool is_moving = pair != nullptr && domain_.is_other(*pair, change);
    job_.agree([&] {
        if (pair == nullptr) return;
        if (is_moving) domain_.read(*pair, change);
        read_fields(*pair, change, n_own);
        read_weights(*pair, change);
        if (!moves_points_) bind(*pair);
    });
    if (moves_points_) settle(pair, change, is_moving);
    if (rolls_out_) roll_out(pair, change, n_own);
}

/// Updates domain and plan to the points of a pair, then binds arrays.
void TrainEngine::settle(const Pair* pair, const Change& change, bool is_moving) {
    // Errors in these functions are the same on all ranks of a group, so no rank blocks.
    job_.agree([&] {
        if (!is_moving) return;
        domain_.transform(context_, change);
        domain_.update();
        is_new_place_ = true;
    });
    job_.agree([&] {
        if (pair != nullptr) bind(*pair);
    });
}

}  // namespace surrogate::tool
