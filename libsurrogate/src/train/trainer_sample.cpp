// SPDX-License-Identifier: Apache-2.0
// Samples of a trainer: memory, bound arrays, forward pass, loss.
#include "libsurrogate/src/train/trainer.hpp"

namespace surrogate::impl {

/// Sets up the structured grid again after points have moved. Collective over the group; errors are
/// agreed on.
void Trainer::follow_lattice() {
    if (recipe_.loss != LossKind::gradient_l2) return;
    const int64_t revision = plan_.output()->revision();
    if (lattice_ && lattice_revision_ == revision) return;
    comm().agree([&] {
        if (n_x_ > 0) return;
        throw Error(Status::invalid_argument,
                    "loss=gradient_l2 needs a structured grid; call "
                    "surrogate_trainer_set_grid_shape first");
    });
    FieldLoss& loss = field_loss("structured grids");
    loss.set_lattice(nullptr);
    lattice_.reset();
    const auto& points = dynamic_cast<const PointDomain&>(*plan_.output());
    lattice_.emplace(points, n_x_, n_y_, static_cast<int64_t>(n_output()));
    loss.set_lattice(&*lattice_);
    lattice_revision_ = revision;
}

/// Memory for the points of now, if they have become others. Local.
void Trainer::make_room() {
    if (n_room_ == n_point()) return;
    const int64_t n = static_cast<int64_t>(n_output()) * n_point();
    prediction_ = kernels::Buffer<double>(n);
    target_ = kernels::Buffer<double>(n);
    gradient_ = kernels::Buffer<double>(n);
    if (has_labels()) labels_ = kernels::Buffer<int64_t>(n_point());
    prediction_columns_.clear();
    gradient_columns_.clear();
    for (size_t o = 0; o < n_output(); ++o) {
        const FieldCard& field = model_->card().outputs[o];
        const int64_t first = static_cast<int64_t>(o) * n_point();
        prediction_columns_.push_back({prediction_.data() + first, 1, true, field.mean, field.std});
        gradient_columns_.push_back({gradient_.data() + first, 1, true});
    }
    n_room_ = n_point();
}

/// Returns true if the caller's array is bound, and has a row for each point of now.
bool Trainer::has_all_rows(const Column& column, int64_t n_row) const {
    return n_row == n_point() && (column.data || n_row == 0);
}

/// Returns the error for an array without has_all_rows. binder: the function that binds it.
Error Trainer::array_error(const std::string& what, const char* binder, const Column& column,
                           int64_t n_row) const {
    const bool is_bound = n_row >= 0 && (column.data || n_row == 0);
    if (!is_bound)
        return {Status::invalid_argument, what + " is not bound; call " + binder + " first"};
    return {Status::shape, what + " is bound to an array of " + std::to_string(n_row) +
                               " points, but the points have moved and the domain has " +
                               std::to_string(n_point()) + "; bind it again"};
}

void Trainer::require_targets() const {
    for (size_t o = 0; o < targets_.size(); ++o) {
        if (has_all_rows(targets_[o], target_rows_[o])) continue;
        throw array_error(
            has_labels() ? "array of labels"
                         : "target of output '" + model_->card().outputs[o].name + "'",
            has_labels() ? "surrogate_trainer_bind_labels" : "surrogate_trainer_bind_target",
            targets_[o], target_rows_[o]);
    }
    if (!has_weights_ || weights_.size() == n_point()) return;
    throw Error(Status::shape, "weights of points were given for " +
                                   std::to_string(weights_.size()) +
                                   " points, but the points have moved and the domain has " +
                                   std::to_string(n_point()) + "; give them again");
}

/// Throws unless the trainer computes the loss.
void Trainer::require_own_loss() const {
    if (recipe_.loss != LossKind::custom) return;
    throw Error(Status::invalid_argument,
                "the trainer has loss=custom, and does not compute losses; call "
                "surrogate_trainer_forward and surrogate_trainer_backward, or for validations "
                "surrogate_trainer_add_validation_loss");
}

/// Throws unless the caller computes the loss.
void Trainer::require_custom_loss() const {
    if (recipe_.loss == LossKind::custom) return;
    throw Error(Status::invalid_argument,
                "loss is '" + loss_name() +
                    "', expected 'custom' for a loss that the caller computes; set loss=custom");
}

/// Throws unless the caller can read the predictions.
void Trainer::require_bound_outputs() const {
    for (size_t o = 0; o < n_output(); ++o) {
        if (plan_.bound_output(o).data || n_point() == 0) continue;
        throw Error(Status::invalid_argument, "output '" + model_->card().outputs[o].name +
                                                  "' is not bound, required by loss=custom; call "
                                                  "surrogate_plan_bind_output first");
    }
}

void Trainer::require_gradients() const {
    for (size_t o = 0; o < n_output(); ++o) {
        if (has_all_rows(caller_gradients_[o], caller_gradient_rows_[o])) continue;
        throw array_error(
            "gradient with respect to output '" + model_->card().outputs[o].name + "'",
            "surrogate_trainer_bind_gradient", caller_gradients_[o], caller_gradient_rows_[o]);
    }
}

/// Reads the caller's derivatives, and scales them to derivatives with respect to the output of the
/// network. Throws not_finite.
void Trainer::take_gradients() {
    for (size_t o = 0; o < n_output(); ++o) {
        const FieldCard& field = model_->card().outputs[o];
        double* const to = gradient_.data() + static_cast<int64_t>(o) * n_point();
        const BadValue bad = gather(std::span(caller_gradients_).subspan(o, 1), 0, n_point(), to, 1,
                                    n_point(), &outside_);
        if (bad.column >= 0) {
            throw Error(Status::not_finite, "gradient with respect to output '" + field.name +
                                                "' is not finite at " +
                                                plan_.output_row_text(bad.point));
        }
        for (int64_t i = 0; i < n_point(); ++i) to[i] *= field.std;
    }
}

/// Reads the labels of the points. Throws invalid_argument for a label that is not a class, or not
/// the id of a particle.
void Trainer::take_labels(const Column& from) {
    constexpr int64_t ignored = SURROGATE_IGNORED_LABEL;
    for (int64_t i = 0; i < n_point(); ++i) {
        const int64_t label = load_integer(from, i);
        labels_[i] = label;
        if (label == ignored || (label >= 0 && (pair_loss_ || label < n_class()))) continue;
        if (pair_loss_) {
            throw Error(Status::invalid_argument,
                        "label " + std::to_string(label) + " at " + plan_.output()->point_text(i) +
                            " is not the id of a particle, expected 0 or more, or -100 for a point "
                            "of no particle");
        }
        throw Error(Status::invalid_argument,
                    "label " + std::to_string(label) + " at " + plan_.output_row_text(i) +
                        " is not a class, expected 0 to " + std::to_string(n_class() - 1) +
                        ", or -100 for a point to ignore");
    }
}

void Trainer::take_targets(const Source& source) {
    const std::span<const Column> targets = source.targets;
    if (has_labels()) return take_labels(targets[0]);
    for (size_t o = 0; o < n_output(); ++o) {
        double* const to = target_.data() + static_cast<int64_t>(o) * n_point();
        const BadValue bad =
            gather(targets.subspan(o, 1), 0, n_point(), to, 1, n_point(), &outside_);
        if (bad.column < 0) continue;
        throw Error(Status::not_finite, "target of output '" + model_->card().outputs[o].name +
                                            "' is not finite at " +
                                            plan_.output_row_text(bad.point));
    }
}

void Trainer::give_predictions() const {
    for (size_t o = 0; o < n_output(); ++o) {
        const Column output = plan_.bound_output(o);
        if (!output.data) continue;
        scatter(prediction_.data() + static_cast<int64_t>(o) * n_point(), 1, n_point(),
                std::span(&output, 1), 0, n_point());
    }
}

Sample Trainer::sample() const {
    return {prediction_.data(),
            target_.data(),
            has_weights_ ? weights_.data() : nullptr,
            n_point(),
            has_labels() ? labels_.data() : nullptr,
            n_point()};
}

/// Returns the rows that count on this rank: every rank has the rows of clouds, rank 0 counts them.
Sample Trainer::counted_sample() const {
    Sample counted = sample();
    if (plan_.has_pooled_outputs() && comm().rank() > 0) counted.n_point = 0;
    return counted;
}

/// Counts the samples of a training over all groups: samples of one place in a batch have the same
/// number for any number of groups.
int64_t Trainer::sample_number() const {
    const int64_t of_step = recipe_.accumulate * group_.n;
    return optimizer_->n_step() * of_step + group_.index * recipe_.accumulate + std::ssize(losses_);
}

/// Prediction and sums of a sample. Collective over the group. Throws if the sample cannot be used,
/// on all its ranks: the own error of a rank, or that another one has one. is_learnt: with noise
/// and dropout.
SampleOutcome Trainer::measure(const Source& source, bool is_learnt) {
    const bool is_noisy = is_learnt && noise_.is_on();
    plan_.follow_if_behind();
    follow_lattice();
    follow_clouds();
    if (is_noisy) noise_.follow(plan_);
    if (source.is_bound) plan_.compare_numbers();
    std::span<const Column> inputs = source.inputs;
    std::optional<DropoutDraw> draw;
    if (is_learnt && drops_) {
        draw = {static_cast<uint64_t>(recipe_.seed), static_cast<uint64_t>(sample_number())};
    }
    std::exception_ptr problem;
    try {
        make_room();
        if (source.is_bound) {
            plan_.require_inputs();
            plan_.require_same_numbers();
        }
        if (recipe_.loss == LossKind::custom) {
            require_bound_outputs();
        } else {
            if (source.is_bound) require_targets();
            take_targets(source);
            if (pair_loss_)
                pair_loss_->prepare(sample(),
                                    is_learnt ? std::optional(sample_number()) : std::nullopt);
        }
        losses_.reserve(losses_.size() + static_cast<size_t>(n_sample()));
        validation_.reserve(validation_.size() + static_cast<size_t>(n_sample()));
        if (is_noisy) inputs = noise_.on(plan_, inputs, sample_number());
    } catch (...) {
        problem = std::current_exception();
    }
    const Execution::Result result = plan_.forward(inputs, prediction_columns_, draw, problem);
    if (!problem && source.is_bound) {
        try {
            give_predictions();
        } catch (...) {
            problem = std::current_exception();
        }
    }
    const bool is_finite = result.is_finite && result.bad_output.column < 0;
    const SampleOutcome own = problem      ? SampleOutcome::failed
                              : !is_finite ? SampleOutcome::not_finite
                                           : SampleOutcome::good;
    const SampleOutcome outcome =
        recipe_.are_clouds_samples ? measure_clouds(own, is_learnt) : find_outcome(own);
    if (problem) std::rethrow_exception(problem);
    if (outcome != SampleOutcome::failed) return outcome;
    throw EchoedError(Status::not_finite,
                      "another rank failed on its part of the sample; see the error of that rank");
}

/// Returns the worst outcome of all ranks, and computes the sums of the loss if it is `good`.
/// Collective over the group, without agreement. own: outcome of this rank.
SampleOutcome Trainer::find_outcome(SampleOutcome own) {
    if (recipe_.loss != LossKind::custom)
        return loss_->measure(comm(), counted_sample(), plan_.n_output_global(), own);
    double worst[] = {static_cast<double>(own)};
    comm().all_reduce_max(std::span(worst));
    return static_cast<SampleOutcome>(static_cast<int>(worst[0]));
}

}  // namespace surrogate::impl
