// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "coupling/training/history.hpp"

namespace surrogate::tool {

/// Tells a person how a training goes, on stderr: on a terminal a bar with the loss, the validation
/// error, the learning rate, samples a second and the time left; elsewhere a plain line an epoch.
class TrainProgress {
public:
    /// is_silent: on all ranks but one, and with --quiet. epoch: how many are complete; done,
    /// total: batches.
    TrainProgress(int64_t n_epoch, int64_t epoch, int64_t done, int64_t total, bool is_silent);
    ~TrainProgress();
    TrainProgress(const TrainProgress&) = delete;
    TrainProgress& operator=(const TrainProgress&) = delete;

    /// A batch of so many samples is done.
    void batch(int64_t n_sample, double loss, double learning_rate);
    void epoch(const EpochRow& row);
    /// Prints a line that tells how the training goes.
    void note(const std::string& text) const;
    /// Prints a warning, also if the rest is silent; on one rank.
    void warn(const std::string& text) const;

    /// Samples a second and seconds since the last call of it, for a row.
    double take_rate();
    double take_seconds() const { return seconds_; }

private:
    void draw();
    void say(const std::string& text) const;
    std::string time_left() const;

    int64_t n_epoch_, done_, first_done_, total_;
    int64_t epoch_, n_sample_ = 0;
    double loss_ = 0, validation_ = 0, learning_rate_ = 0, seconds_ = 0;
    double begin_s_, epoch_s_, drawn_s_ = 0, rate_ = 0;
    bool is_silent_, is_terminal_;
};

/// "12 s", "3 min 05 s", "2 h 10 min"
std::string duration(double seconds);

}  // namespace surrogate::tool
