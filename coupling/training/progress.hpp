// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "coupling/training/history.hpp"

namespace surrogate::tool {

/// Prints the progress of a training to stderr. On a terminal it draws a bar with loss, validation
/// error, learning rate, samples per second and remaining time; elsewhere it prints one line per
/// epoch.
class TrainProgress {
public:
    /// Starts the clock. `is_silent` is set on all ranks but one, and with --quiet. `epoch` is the
    /// number of complete epochs; `done` and `total` count batches.
    TrainProgress(int64_t n_epoch, int64_t epoch, int64_t done, int64_t total, bool is_silent);
    ~TrainProgress();
    TrainProgress(const TrainProgress&) = delete;
    TrainProgress& operator=(const TrainProgress&) = delete;

    /// Records the end of a batch of `n_sample` samples.
    void batch(int64_t n_sample, double loss, double learning_rate);
    void epoch(const EpochRow& row);
    /// Prints a line about the state of the training.
    void note(const std::string& text) const;
    /// Prints a warning, even with is_silent; call it on one rank.
    void warn(const std::string& text) const;

    /// Returns samples per second and seconds since the last call, for a row of the history.
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

/// Returns a text such as "12 s", "3 min 05 s" or "2 h 10 min".
std::string duration(double seconds);

}  // namespace surrogate::tool
