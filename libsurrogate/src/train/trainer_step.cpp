// SPDX-License-Identifier: Apache-2.0
// Steps of a trainer: samples, backward pass, optimizer.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "libsurrogate/src/train/trainer.hpp"

namespace surrogate::impl {

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

}  // namespace

double Trainer::accumulate() {
    require_own_loss();
    return accumulate(bound(), false);
}

void Trainer::forward() {
    require_custom_loss();
    evaluated_.reset();
    const Traffic before = now();
    data_parallel().agree([&] { evaluated_ = measure(bound(), true); });
    add_traffic(before);
}

void Trainer::backward(double loss) {
    require_custom_loss();
    const Traffic before = now();
    data_parallel().agree([&] {
        if (!evaluated_) {
            throw Error(Status::invalid_argument,
                        "no sample was evaluated; call surrogate_trainer_forward first");
        }
        require_gradients();
        if (*evaluated_ == SampleOutcome::good) take_gradients();
    });
    const SampleOutcome outcome = *evaluated_;
    evaluated_.reset();
    if (outcome == SampleOutcome::good) note_ranges(bound());
    go_back(outcome, false);
    losses_.push_back(outcome == SampleOutcome::good ? loss : nan);
    add_traffic(before);
}

Trainer::Traffic Trainer::now() const {
    const Execution::Traffic own = plan_.traffic();
    const Traffic traffic{own.bytes, own.collectives};
    if (&comm() == &data_parallel()) return traffic;
    return {traffic.bytes + data_parallel().bytes_sent(),
            traffic.collectives + data_parallel().n_collective()};
}

/// Counts what was sent since `before` to the step under way.
void Trainer::add_traffic(const Traffic& before) {
    const Traffic after = now();
    step_.bytes += after.bytes - before.bytes;
    step_.collectives += after.collectives - before.collectives;
}

/// is_last: apply() follows immediately, so gradients may be reduced during the backward pass of
/// the sample.
double Trainer::accumulate(const Source& source, bool is_last) {
    const Traffic before = now();
    double loss = nan;
    SampleOutcome outcome = SampleOutcome::failed;
    data_parallel().agree([&] {
        outcome = measure(source, true);
        if (outcome == SampleOutcome::good) loss = sample_loss();
    });
    if (outcome == SampleOutcome::good) note_ranges(source);
    go_back(outcome, is_last);
    end_sample(loss, losses_);
    add_traffic(before);
    return loss;
}

/// Nothing in here fails, or groups would have different numbers of samples.
void Trainer::go_back(SampleOutcome outcome, bool is_last) {
    if (outcome != SampleOutcome::good) return sums_->poison();
    // Otherwise gradients of the caller or of the clouds are there.
    if (loss_ && !recipe_.are_clouds_samples) loss_->gradient(sample(), gradient_.data());
    if (is_last) sums_->begin(data_parallel());
    if (!plan_.backward(gradient_columns_, true, *sums_)) sums_->poison();
}

/// Returns the mean over the n samples of all groups; NaN if one is NaN. Bitwise identical for
/// every distribution of samples. Collective over data_parallel if there are several groups.
double Trainer::mean(std::span<const double> losses, int64_t& n) const {
    constexpr int64_t most = int64_t{1} << 30;
    double worst[] = {0, 0};  // any that is not finite; the largest
    if (group_.n == 1 || group_.is_first) {
        for (const double loss : losses) {
            if (!std::isfinite(loss)) worst[0] = 1;
            if (std::isfinite(loss)) worst[1] = std::max(worst[1], loss);
        }
    }
    if (group_.n > 1) data_parallel().all_reduce_max(std::span(worst));
    const ExactGrid grid(most, worst[1]);
    int64_t sums[] = {0, 0, 0};  // number of losses, limbs
    if (group_.n == 1 || group_.is_first) {
        sums[0] = std::ssize(losses);
        for (const double loss : losses)
            if (std::isfinite(loss)) grid.add(loss, sums + 1, 1);
    }
    if (group_.n > 1) data_parallel().all_reduce_sum(std::span(sums));
    n = sums[0];
    return worst[0] > 0 || n == 0 ? nan : grid.value(sums + 1, 1) / static_cast<double>(n);
}

surrogate_step_report Trainer::apply() {
    if (losses_.empty()) {
        throw Error(Status::invalid_argument,
                    "nothing was accumulated since the last step; call "
                    "surrogate_trainer_accumulate or surrogate_trainer_backward first");
    }
    const Traffic before = now();
    bool is_finite = sums_->reduce(data_parallel());
    surrogate_step_report report{};
    report.loss = mean(losses_, report.samples);
    losses_.clear();
    add_traffic(before);
    last_step_ = std::exchange(step_, {});
    const Rate rate = rate_at(recipe_, optimizer_->n_step(), plateau_.n_drop);
    report.learning_rate = rate.learning_rate;
    report.beta1 = rate.beta1;
    report.gradient_norm = nan;
    if (is_finite) {
        report.gradient_norm =
            optimizer_->scale(sums_->total(), 1 / static_cast<double>(report.samples));
        is_finite = std::isfinite(report.gradient_norm) && std::isfinite(report.loss);
    }
    if (!is_finite) return skip(report);
    optimizer_->step(sums_->total(), report.gradient_norm, rate);
    sums_->clear();
    seen_.end_step(true);
    n_bad_ = 0;
    report.step = optimizer_->n_step();
    data_parallel().agree([&] { model_->weights()->refresh(); });
    return report;
}

/// The step is left out.
surrogate_step_report Trainer::skip(surrogate_step_report report) {
    sums_->clear();
    seen_.end_step(false);
    report.step = optimizer_->n_step();
    report.was_skipped = 1;
    if (++n_bad_ <= recipe_.max_nonfinite_steps) return report;
    throw Error(Status::not_finite,
                "loss or gradients of step " + std::to_string(report.step + 1) +
                    " are not finite, in " + std::to_string(n_bad_) +
                    (n_bad_ == 1 ? " step" : " steps in a row") +
                    " (max_nonfinite_steps=" + std::to_string(recipe_.max_nonfinite_steps) +
                    "); the weights are those of the last good step. A smaller learning_rate or "
                    "max_grad_norm may help");
}

surrogate_step_report Trainer::step() {
    require_own_loss();
    const bool is_last = is_last_sample();
    const double loss = accumulate(bound(), is_last);
    if (is_last) return apply();
    surrogate_step_report report{};
    report.step = optimizer_->n_step();
    report.loss = loss;
    const Rate rate = rate_at(recipe_, optimizer_->n_step(), plateau_.n_drop);
    report.learning_rate = rate.learning_rate;
    report.beta1 = rate.beta1;
    return report;
}

}  // namespace surrogate::impl
