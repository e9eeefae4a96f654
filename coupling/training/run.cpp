// SPDX-License-Identifier: Apache-2.0
#include "coupling/training/run.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "coupling/job/output.hpp"
#include "coupling/job/text.hpp"
#include "coupling/training/rollout.hpp"

namespace surrogate::tool {

std::string loss_of(const TrainConfig& config) {
    for (const Setting& setting : config.training)
        if (setting.key == "loss") return setting.value;
    return "relative_l2";
}

bool has_errors(const TrainConfig& config) {
    return loss_of(config) != "infonce";
}

TrainRun::TrainRun(const TrainParts& parts)
    : parts_(parts),
      history_(loss_of(parts.config), has_errors(parts.config) ? names_of(parts.channels.outputs)
                                                               : std::vector<std::string>()),
      date_(parts.provenance.value("date", "")),
      n_batch_(static_cast<int64_t>(parts.data.training().size()) / parts.config.batch) {}

/// Returns true if any rank has received a signal.
bool TrainRun::must_stop() const {
    return parts_.job.max(int64_t{stop_.have_come() ? 1 : 0}) > 0;
}

Exit TrainRun::run() {
    const TrainConfig& config = parts_.config;
    const auto n_pair = static_cast<int64_t>(parts_.data.training().size());
    TrainProgress progress(config.n_epoch, epoch_, epoch_ * n_batch_ + batch_,
                           config.n_epoch * n_batch_, parts_.is_quiet || !parts_.job.is_root());
    progress_ = &progress;
    while (epoch_ < config.n_epoch && !has_stalled()) {
        // The last batch is omitted if it is not full.
        const auto order = permutation(n_pair, config.seed, epoch_);
        while (batch_ < n_batch_) {
            if (must_stop()) return finish(Exit::stopped);
            learn(order);
            ++batch_;
            progress.batch(config.batch, report_.loss, report_.learning_rate);
        }
        end_epoch();
    }
    return finish(Exit::success);
}

bool TrainRun::has_stalled() const {
    const int64_t n_patience = parts_.config.early_stopping;
    const auto& rows = history_.rows();
    if (n_patience == 0 || std::ssize(rows) < n_patience) return false;
    return std::none_of(rows.end() - n_patience, rows.end(),
                        [](const EpochRow& row) { return row.is_best; });
}

void TrainRun::learn(const std::vector<int64_t>& order) {
    const TrainConfig& config = parts_.config;
    const RankGroup& group = parts_.engine.group();
    const int64_t n_mine = config.batch / config.n_group;
    std::vector<Draw> draws;
    for (int64_t i = 0; i < n_mine; ++i) {
        const auto place = static_cast<size_t>(batch_ * config.batch + group.index * n_mine + i);
        const Pair& pair = parts_.data.training()[static_cast<size_t>(order[place])];
        Change change = random_change(config.data.symmetries, config.data.n_drawn,
                                      parts_.data.file(pair.file).extents(pair.input.sample),
                                      config.seed, epoch_, order[place]);
        if (config.data.augmentation.is_on())
            change.transform =
                random_transform(config.data.augmentation, config.seed, epoch_, order[place]);
        const int64_t n_own =
            random_own_leads(config.rollout, pair, config.seed, epoch_, order[place]);
        draws.push_back({&pair, change, n_own});
        if (std::ssize(draws) < parts_.engine.n_at_once()) continue;
        parts_.engine.load(draws);
        draws.clear();
        try {
            report_ = parts_.engine.trainer().step();
        } catch (const Error& error) {
            throw Failure(parts_.job.exit_status(error),
                          std::string(error.what()) + "\nepoch " + std::to_string(epoch_ + 1) +
                              ", batch " + std::to_string(batch_ + 1) + ": " +
                              samples_of_batch(order) + "\nWhat was written before stays.");
        }
    }
    step_ = report_.step;
    if (report_.was_skipped != 0 || !std::isfinite(report_.loss)) return;
    loss_sum_ += report_.loss;
    ++n_loss_;
}

std::string TrainRun::samples_of_batch(const std::vector<int64_t>& order) const {
    constexpr int64_t most = 8;
    std::string text;
    for (int64_t i = 0; i < parts_.config.batch; ++i) {
        if (i == most) return text + ", ..";
        const auto place = static_cast<size_t>(batch_ * parts_.config.batch + i);
        const Pair& pair = parts_.data.training()[static_cast<size_t>(order[place])];
        text += (i > 0 ? ", " : "") + sample_text(parts_.data, pair.file, pair.input);
    }
    return text;
}

void TrainRun::end_epoch() {
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    EpochRow row;
    row.epoch = epoch_ + 1;
    row.step = step_;
    row.learning_rate = report_.learning_rate;
    row.loss = n_loss_ > 0 ? loss_sum_ / static_cast<double>(n_loss_) : none;
    row.validation = none;
    if (!parts_.data.validation().empty()) validate(&row);
    row.samples_per_s = progress_->take_rate();
    row.seconds = progress_->take_seconds();
    history_.add(row);
    ++epoch_;
    batch_ = 0;
    loss_sum_ = 0;
    n_loss_ = 0;
    progress_->epoch(row);
    if (epoch_ % parts_.config.checkpoint_epochs == 0 && epoch_ != parts_.config.n_epoch) save();
    write_curves();
}

/// Saves a checkpoint. A failure is not an error unless it is the last checkpoint, because the next
/// one may succeed.
void TrainRun::save() {
    const auto warn = [&](const char* text) {
        if (parts_.job.is_root()) progress_->warn(text);
    };
    try {
        write_checkpoint();
        write_models(false);
    } catch (const Error& error) {
        parts_.job.require_communication(error);
        warn(error.what());
    } catch (const Failure& failure) {
        warn(failure.what());
    }
}

/// Computes the loss of the validation set. Each group evaluates a part; sums are in the order of
/// the set.
void TrainRun::validate(EpochRow* row) {
    const auto& pairs = parts_.data.validation();
    const size_t n_output = parts_.channels.outputs.size();
    const RankGroup& group = parts_.engine.group();
    const auto n_group = static_cast<size_t>(group.n);
    std::vector<double> errors(pairs.size() * n_output);
    for (size_t first = 0; first < pairs.size(); first += n_group) {
        const size_t mine = first + static_cast<size_t>(group.index);
        const Pair* const pair = mine < pairs.size() ? &pairs[mine] : nullptr;
        parts_.engine.load(pair == nullptr ? std::vector<Draw>() : std::vector<Draw>{Draw{pair}});
        // Errors in these functions are the same on all ranks of a group, so no rank blocks.
        parts_.job.agree([&] {
            if (pair == nullptr) return;
            const auto found = parts_.engine.trainer().validate(static_cast<int32_t>(n_output));
            if (group.rank == 0)
                std::copy(found.error.begin(), found.error.end(), &errors[mine * n_output]);
        });
    }
    parts_.data_parallel.reduce(SURROGATE_SUM, static_cast<int64_t>(errors.size()), errors.data());
    if (has_errors(parts_.config)) row->error = mean_errors(errors, n_output);
    const auto judgement = parts_.engine.trainer().end_validation();
    row->validation = judgement.mean_loss;
    row->is_best = judgement.is_best;
}

/// Returns the mean relative error of each output over the held-out samples whose target is not
/// zero everywhere. NaN for an output without such samples.
std::vector<double> TrainRun::mean_errors(const std::vector<double>& errors,
                                          size_t n_output) const {
    std::vector<double> means(n_output), n_sample(n_output);
    // The error of a class without points in a sample is NaN.
    const auto is_counted = [&](size_t i) {
        return !parts_.zero_targets[i] && !std::isnan(errors[i]);
    };
    for (size_t i = 0; i < errors.size(); ++i)
        if (is_counted(i)) n_sample[i % n_output] += 1;
    for (size_t i = 0; i < errors.size(); ++i)
        if (is_counted(i)) means[i % n_output] += errors[i] / n_sample[i % n_output];
    for (size_t o = 0; o < n_output; ++o)
        if (n_sample[o] == 0) means[o] = std::numeric_limits<double>::quiet_NaN();
    return means;
}

Exit TrainRun::finish(Exit status) {
    if (progress_ != nullptr && parts_.job.is_root())
        progress_->note(status == Exit::stopped ? "signal received, writing checkpoint"
                                                : "writing the models");
    write_checkpoint();
    write_models(true);
    write_curves();
    progress_ = nullptr;
    return status;
}

}  // namespace surrogate::tool
