// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/train/trainer.hpp"

#include <algorithm>
#include <cstdio>
#include <functional>

#include "libsurrogate/src/core/text.hpp"
#include "libsurrogate/src/model/families.hpp"

namespace surrogate::impl {

namespace {

GradientOrder order_of(const Plan& plan) {
    if (plan.option("reproducible") == "true") return GradientOrder::exact;
    return plan.option("precision") == "fp64" ? GradientOrder::real : GradientOrder::single;
}

/// Names of the weights that training leaves as they are.
std::vector<std::string> fixed_weights(const Model& model) {
    std::vector<std::string> names;
    for (const TensorSpec& tensor :
         required_tensors(model.card(), std::ssize(model.weights()->entries())))
        if (tensor.is_fixed) names.push_back(tensor.name);
    return names;
}

}  // namespace

Trainer::Trainer(Plan& plan, std::shared_ptr<Context> shared,
                 std::shared_ptr<Context> data_parallel, const TrainingSettings& settings)
    : plan_(plan),
      model_(plan.model()),
      shared_(std::move(shared)),
      data_parallel_(std::move(data_parallel)) {
    this->data_parallel().agree([&] {
        plan_.require_trainable();
        settings_ = settings;
        recipe_ = settings.recipe();
        if (model_->weights()->entries().empty())
            throw Error(Status::not_supported,
                        "the model has no weights to train; models of family 'affine' and single "
                        "layers without parameters cannot be trained");
        if (recipe_.loss == LossKind::gradient_l2 &&
            !dynamic_cast<const PointDomain*>(plan_.output().get())) {
            throw Error(Status::not_supported,
                        "loss=gradient_l2 requires points on a structured grid, but the plan's "
                        "domain is a grid on the sphere");
        }
        if (recipe_.loss == LossKind::l1_w11) (void)sphere();
        if (recipe_.are_clouds_samples && comm().size() > 1) {
            throw Error(Status::not_supported,
                        "the plan's context has " + std::to_string(comm().size()) +
                            " ranks, expected 1 for sample=cloud; give each rank a context of its "
                            "own, and the trainer a context of all of them as data_parallel");
        }
        require_pooled_settings();
    });
    find_groups();
    require_same_model();
    this->data_parallel().agree([&] {
        optimizer_.emplace(*model_->weights(), recipe_, plan_.queue(), fixed_weights(*model_));
        sums_.emplace(*model_->weights(), plan_.queue().n_thread(), order_of(plan_),
                      plan_.weight_stages(), recipe_.bucket);
        sums_->reserve(this->data_parallel());
        require_classes();
        find_dropout();
        loss_ = make_loss(recipe_, model_->card().outputs, model_->network().returns_probability(),
                          plan_.queue());
        connect_pairs();
        targets_.resize(has_labels() ? 1 : n_output());
        target_rows_.resize(targets_.size(), -1);
        caller_gradients_.resize(n_output());
        caller_gradient_rows_.resize(n_output(), -1);
        seen_ = SeenRanges(n_input() + n_output());
        losses_.reserve(static_cast<size_t>(std::min<int64_t>(recipe_.accumulate, 4096)));
        // Groups keep different samples, and choose them by numbers of their own.
        reservoir_ = Reservoir(recipe_.reservoir, recipe_.seed, group_.index);
        noise_ = Noise(recipe_.noise, recipe_.seed);
        make_room();
        const bool logs = this->data_parallel().rank() == 0 && data_parallel_->has_log();
        if (logs && !settings.old_names().empty()) data_parallel_->log(settings.old_names());
    });
    if (recipe_.loss != LossKind::l1_w11) return;
    this->data_parallel().agree([&] {
        derivatives_.emplace(sphere(), static_cast<int64_t>(n_output()), plan_.queue());
        field_loss("derivatives").set_derivatives(&*derivatives_);
    });
}

/// Returns the domain of the outputs. Throws not_supported for points.
const SphereDomain& Trainer::sphere() const {
    if (const auto* const grid = dynamic_cast<const SphereDomain*>(plan_.output().get()))
        return *grid;
    throw Error(Status::not_supported,
                "the plan's domain is a set of points, expected a grid on the sphere for loss=" +
                    loss_name() + "; set loss=l1");
}

/// Throws not_supported for settings that need outputs at points, if outputs are rows of clouds.
void Trainer::require_pooled_settings() const {
    if (!plan_.has_pooled_outputs()) return;
    const bool is_at_points =
        recipe_.loss == LossKind::gradient_l2 || recipe_.loss == LossKind::infonce;
    if (!is_at_points && recipe_.reservoir == 0) return;
    throw Error(Status::not_supported, "output '" + model_->card().outputs.front().name +
                                           "' has one row per cloud, and " +
                                           (is_at_points ? "loss=" + loss_name() : "a reservoir") +
                                           " needs outputs at points");
}

/// Collective: the groups are told apart by their first ranks.
void Trainer::find_groups() {
    group_.is_first = comm().rank() == 0;
    int64_t counts[] = {group_.is_first ? 1 : 0, group_.is_first ? comm().size() : 0};
    group_.index = data_parallel().exclusive_sum(counts[0]);
    comm().broadcast(&group_.index, sizeof group_.index, 0);
    data_parallel().all_reduce_sum(std::span(counts));
    group_.n = counts[0];
    if (counts[1] == data_parallel().size()) return;
    throw Error(Status::invalid_argument,
                "the contexts of the plans do not partition the data-parallel context: it has " +
                    std::to_string(data_parallel().size()) + " ranks, they have " +
                    std::to_string(counts[1]));
}

/// Collective: throws unless all ranks would train the same model in the same way.
void Trainer::require_same_model() const {
    constexpr size_t n = 4;
    const char* const names[n] = {"model (card or weights)", "training settings",
                                  "plan's option precision", "plan's option reproducible"};
    int64_t marks[2 * n] = {};
    data_parallel().agree([&] {
        std::string written;
        for (const auto& [key, value] : settings_.all()) written += key + "=" + value + "\n";
        const auto mark = [](size_t bits) { return static_cast<int64_t>(bits); };
        marks[0] = mark(model_->hash());
        marks[1] = mark(std::hash<std::string>()(written));
        marks[2] = mark(std::hash<std::string>()(plan_.option("precision")));
        marks[3] = mark(std::hash<std::string>()(plan_.option("reproducible")));
        for (size_t i = 0; i < n; ++i) marks[n + i] = ~marks[i];
    });
    data_parallel().all_reduce_max(std::span(marks));
    std::string different;
    for (size_t i = 0; i < n; ++i) {
        if (marks[i] != ~marks[n + i])
            different += (different.empty() ? "" : ", ") + std::string(names[i]);
    }
    if (different.empty()) return;
    throw Error(Status::invalid_argument,
                "ranks that train together must agree; these differ: " + different);
}

/// Throws invalid_argument unless the outputs of the card can be logits of classes.
void Trainer::require_classes() const {
    if (!has_classes()) return;
    const auto& outputs = model_->card().outputs;
    for (const FieldCard& output : outputs) {
        if (output.mean == 0 && output.std == 1) continue;
        throw Error(Status::invalid_argument,
                    "output '" + output.name + "' has mean " + number_text(output.mean) +
                        " and std " + number_text(output.std) +
                        " on the card, expected 0 and 1: with loss=" + loss_name() +
                        " outputs are logits or probabilities of classes");
    }
}

/// Passes the points of the samples to the loss over pairs. Throws not_supported unless they are
/// scattered points on one rank. Local.
void Trainer::connect_pairs() {
    pair_loss_ = dynamic_cast<PairLoss*>(loss_.get());
    if (!pair_loss_) return;
    const auto* const points = dynamic_cast<const PointDomain*>(plan_.output().get());
    if (!points) {
        throw Error(Status::not_supported,
                    "loss=infonce requires scattered points, but the plan's domain is a grid on "
                    "the sphere");
    }
    if (comm().size() > 1) {
        throw Error(Status::not_supported,
                    "loss=infonce computes the pairs of a sample on one rank, and the plan's "
                    "context has " +
                        std::to_string(comm().size()) +
                        "; give each rank a context of its own, and the trainer a context of all "
                        "of them as data_parallel");
    }
    std::vector<int> axes;
    for (const FieldCard& input : model_->card().inputs)
        if (input.is_coordinate) axes.push_back(input.axis);
    if (axes.size() < 2) axes = {0, 1};
    pair_loss_->set_points(*points, {axes[0], axes[1]}, plan_.option("reproducible") == "true");
}

/// Finds out whether training drops values. Throws not_supported for rates of the card that it
/// cannot apply.
void Trainer::find_dropout() {
    if (!recipe_.has_dropout) return;
    const bool is_on_device = plan_.option("backend") == "cuda";
    for (const DropoutRate& rate : model_->network().dropout_rates()) {
        drops_ = true;
        if (recipe_.are_clouds_samples) {
            throw Error(Status::not_supported,
                        "card: network." + rate.key + " is " + number_text(rate.rate) +
                            ", expected 0 for sample=cloud; set sample=domain or dropout=off");
        }
        if (rate.is_built && !is_on_device) continue;
        throw Error(Status::not_supported,
                    "card: network." + rate.key + " is " + number_text(rate.rate) +
                        ", expected 0: " +
                        (rate.is_built ? "training on a CUDA device drops no values"
                                       : "training drops no attention weights") +
                        "; set the key to 0, or the training setting dropout=off");
    }
}

int64_t Trainer::counter(const char* key) const {
    if (!key) throw Error(Status::invalid_argument, "counter key is NULL");
    const int64_t bytes = optimizer_->bytes() + sums_->bytes() + (loss_ ? loss_->bytes() : 0) +
                          reservoir_.bytes() + best_.bytes() + prediction_.bytes() +
                          target_.bytes() + gradient_.bytes() + weights_.bytes() + noise_.bytes() +
                          labels_.bytes() + (lattice_ ? lattice_->bytes() : 0) +
                          (derivatives_ ? derivatives_->bytes() : 0);
    const std::pair<std::string, int64_t> counters[] = {
        {"bytes_sent", last_step_.bytes},        {"collectives", last_step_.collectives},
        {"steps", optimizer_->n_step()},         {"bytes", bytes},
        {"samples_stored", reservoir_.n_kept()}, {"samples_offered", reservoir_.n_given()}};
    std::vector<std::string> names;
    for (const auto& [name, value] : counters) {
        if (name == key) return value;
        names.push_back(name);
    }
    throw Error(Status::unknown_name, no_such_text("counter", key, names));
}

std::string Trainer::describe() const {
    const MasterWeights& weights = *model_->weights();
    const int64_t n_arena = std::ssize(weights.values());
    const auto line = [](const char* what, int64_t number, const char* unit) {
        char text[120];
        std::snprintf(text, sizeof text, "%-30s %14lld %s\n", what, static_cast<long long>(number),
                      unit);
        return std::string(text);
    };
    std::string text = "training of " + model_->card().family + " across " +
                       std::to_string(data_parallel().size()) + " ranks in " +
                       std::to_string(group_.n) + (group_.n == 1 ? " group\n" : " groups\n");
    for (const auto& [key, value] : settings_.all()) text += key + "=" + value + " ";
    text += "\n";
    for (const DropoutRate& rate : model_->network().dropout_rates()) {
        if (drops_) text += "network." + rate.key + " " + number_text(rate.rate) + " is applied\n";
    }
    text += line("parameters", weights.n_parameter(), "");
    text += line("samples a step", group_.n * recipe_.accumulate, "");
    text += line("gradients", sums_->bytes(), "bytes");
    const int64_t n_moment = recipe_.optimizer == OptimizerKind::sgd ? 1 : 2;
    text += line("weights in double, moments", 8 * (1 + n_moment) * n_arena, "bytes");
    if (recipe_.ema_decay > 0) text += line("average", 8 * n_arena, "bytes");
    text += line("predictions and targets", 3 * prediction_.bytes(), "bytes");
    const int64_t workspace = plan_.counter("workspace_bytes"),
                  n_own = plan_.counter("points_local");
    text += line("workspace of the plan", workspace, "bytes");
    if (n_own > 0) text += line("  a point of this rank", workspace / n_own, "bytes");
    text += line("gradients sent a step", sums_->bytes_sent(), "bytes");
    text += line("  in calls", sums_->collectives(), "");
    return text;
}

}  // namespace surrogate::impl
