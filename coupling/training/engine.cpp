// SPDX-License-Identifier: Apache-2.0
#include "coupling/training/engine.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

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
TrainerOptions settings_of(const TrainConfig& config, int64_t n_step, bool are_clouds_samples) {
    TrainerOptions training;
    for (const Setting& setting : config.training) training.set(setting.key, setting.value);
    training.set("seed", std::to_string(config.seed));
    training.set("accumulate", std::to_string(config.batch / config.n_group));
    if (are_clouds_samples) training.set("sample", "cloud");
    if (is_value(config.training, "schedule", "one_cycle") ||
        is_value(config.training, "schedule", "cosine"))
        training.set("steps", std::to_string(n_step));
    return training;
}

/// Returns the number of threads of a rank; 1 if the library divides the cores of a node among
/// ranks.
int64_t n_thread_of(const Job& job, const TrainConfig& config) {
    for (const Setting& setting : config.options)
        if (setting.key == "threads" && setting.value != "auto") return std::stoll(setting.value);
    return job.size() == 1 ? kernels::openmp_threads() : 1;
}

/// Returns the number of samples that a group passes to the trainer at once; see n_at_once(). One,
/// unless a rank has several threads and small samples without anything that belongs to whole
/// domains.
int64_t samples_at_once(const Job& job, const TrainConfig& config, const TrainData& data,
                        const nlohmann::json& card, const RankGroup& group) {
    constexpr int64_t small = 512;                     // points that leave threads idle
    constexpr int64_t most_points = int64_t{1} << 14;  // of samples together, which bounds memory
    const auto has = [&](const char* key, const char* value) {
        return is_value(config.training, key, value);
    };
    const bool is_whole = has("loss", "gradient_l2") || has("loss", "infonce");
    const bool has_noise =
        std::any_of(config.training.begin(), config.training.end(),
                    [](const Setting& one) { return one.key == "noise" && one.value != "0"; });
    const bool is_on_device = is_value(config.options, "backend", "cuda");
    const bool is_alone = group.size > 1 || n_thread_of(job, config) == 1 || is_on_device ||
                          is_whole || has_noise || config.rollout > 1 || data.has_clouds() ||
                          data.form().points == PointForm::sphere || card.at("family") == "hept";
    int64_t n_point = 1;
    for (const Pair& pair : data.training())
        n_point = std::max(n_point, data.file(pair.file).n_point(pair.input.sample));
    const int64_t n_mine = config.batch / config.n_group;
    int64_t n = is_alone || n_point > small ? 1 : std::min(n_mine, most_points / n_point);
    while (n_mine % n != 0) --n;
    return n;
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
      n_at_once_(samples_at_once(job, config, data, card, group_)),
      domain_(data, group_.rank, group_.size, uses_point_weights(card), n_at_once_ > 1),
      inputs_(channels.inputs),
      rolls_out_(config.rollout > 1),
      moves_points_(config.data.n_drawn > 0 || config.data.augmentation.is_on() ||
                    !domain_.is_fixed() ||
                    ((uses_point_weights(card) || data.has_clouds()) &&
                     config.data.symmetries != Symmetry::none)),
      input_vectors_(vectors_of(channels.inputs)),
      target_vectors_(vectors_of(channels.fields())) {
    make_model(config, card);
    if (model_->input_domain().keeps_clouds == 0) n_at_once_ = 1;  // such as sequences of words
    const Pair& first = data.training().front();
    job_.agree([&] { domain_.read(first); });
    job_.agree([&] { domain_.create(context_, first); });
    plan_.emplace(*model_, domain_.domain(), plan_options(config));
    make_trainer(data_parallel, config, statistics, n_step);
    moves_points_ = moves_points_ || n_at_once_ > 1;
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
    const auto create = [&] {
        const TrainerOptions settings = settings_of(config, n_step, n_at_once_ > 1);
        if (group_.n == 1)
            trainer_.emplace(*plan_, settings);
        else
            trainer_.emplace(*plan_, data_parallel, settings);
    };
    try {
        create();
    } catch (const Error& error) {
        if (n_at_once_ == 1 || error.status() != SURROGATE_NOT_SUPPORTED) throw;
        n_at_once_ = 1;  // the network has dropout, which belongs to whole domains
        create();
    }
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

void TrainEngine::read_fields(const std::vector<Draw>& draws) {
    const auto append = [](auto& all, const auto& more) {
        all.insert(all.end(), more.begin(), more.end());
    };
    targets_.assign(channels_.labels ? 0 : channels_.outputs.size(), {});
    labels_.clear();
    SampleInputs inputs(channels_.inputs);
    std::vector<std::vector<double>> targets(targets_.size());
    for (size_t s = 0; s < draws.size(); ++s) {
        const Pair& pair = *draws[s].pair;
        const Change& change = draws[s].change;
        const dataset::ReadFile& file = data_.file(pair.file);
        const PointRange& range = domain_.range(s);
        inputs.read(file, earlier(pair, draws[s].n_own), change, domain_, s);
        if (channels_.labels)
            append(labels_,
                   targets_of(
                       read_labels(file, channels_.labels->stored, pair.target, change, range), s));
        for (size_t i = 0; i < targets.size(); ++i)
            targets[i] = targets_of(
                read_range(file, channels_.outputs[i].stored, pair.target, change, range), s);
        if (change.transform) {
            transform_vectors(*change.transform, input_vectors_, &inputs.real());
            transform_vectors(*change.transform, target_vectors_, &targets);
        }
        for (size_t i = 0; i < targets.size(); ++i) append(targets_[i], targets[i]);
        s == 0 ? inputs_.take(inputs) : inputs_.append(inputs);
    }
}

/// Reads the weights of the samples' points; 1 in a file without weights. Local.
void TrainEngine::read_weights(const std::vector<Draw>& draws) {
    if (!data_.has_weights() || !domain_.read_weights(draws)) return;
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

void TrainEngine::load(const std::vector<Draw>& draws) {
    const bool is_moving = !draws.empty() && domain_.is_other(draws);
    job_.agree([&] {
        if (draws.empty()) return;
        if (is_moving) domain_.read(draws);
        read_fields(draws);
        read_weights(draws);
        if (!moves_points_) bind(*draws[0].pair);
    });
    if (moves_points_) settle(draws, is_moving);
    if (rolls_out_) roll_out(draws);
}

/// Updates domain and plan to the points of samples, then binds arrays.
void TrainEngine::settle(const std::vector<Draw>& draws, bool is_moving) {
    // Errors in these functions are the same on all ranks of a group, so no rank blocks.
    job_.agree([&] {
        if (!is_moving) return;
        domain_.transform(context_, draws);
        domain_.update();
        is_new_place_ = true;
    });
    job_.agree([&] {
        if (!draws.empty()) bind(*draws[0].pair);
    });
}

}  // namespace surrogate::tool
