// SPDX-License-Identifier: Apache-2.0
#include "coupling/training/progress.hpp"

#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>

#include "coupling/job/output.hpp"
#include "coupling/job/progress.hpp"
#include "coupling/job/text.hpp"

namespace surrogate::tool {

namespace {

constexpr double redraw_s = 0.1;

double now_s() {
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(since).count();
}

std::string error_text(double value) {
    return std::isfinite(value) ? number(value) : "none";
}

}  // namespace

std::string duration(double seconds) {
    const auto whole = static_cast<long long>(std::llround(std::max(seconds, 0.0)));
    std::array<char, 48> text{};
    if (whole < 60)
        std::snprintf(text.data(), text.size(), "%lld s", whole);
    else if (whole < 3600)
        std::snprintf(text.data(), text.size(), "%lld min %02lld s", whole / 60, whole % 60);
    else
        std::snprintf(text.data(), text.size(), "%lld h %02lld min", whole / 3600, whole / 60 % 60);
    return text.data();
}

TrainProgress::TrainProgress(int64_t n_epoch, int64_t epoch, int64_t done, int64_t total,
                             bool is_silent)
    : n_epoch_(n_epoch),
      done_(done),
      first_done_(done),
      total_(total),
      epoch_(epoch),
      loss_(std::numeric_limits<double>::quiet_NaN()),
      validation_(loss_),
      begin_s_(now_s()),
      epoch_s_(begin_s_),
      is_silent_(is_silent),
      is_terminal_(can_redraw()) {}

TrainProgress::~TrainProgress() {
    if (!is_silent_ && is_terminal_ && drawn_s_ > 0) redraw("", "");
}

std::string TrainProgress::time_left() const {
    const int64_t n = done_ - first_done_;
    if (n == 0) return "";
    const double each = (now_s() - begin_s_) / static_cast<double>(n);
    return ", " + duration(each * static_cast<double>(total_ - done_)) + " left";
}

void TrainProgress::batch(int64_t n_sample, double loss, double learning_rate) {
    ++done_;
    n_sample_ += n_sample;
    loss_ = loss;
    learning_rate_ = learning_rate;
    if (is_silent_ || !is_terminal_ || now_s() - drawn_s_ < redraw_s) return;
    rate_ = static_cast<double>(n_sample_) / std::max(now_s() - epoch_s_, 1e-9);
    draw();
}

void TrainProgress::draw() {
    const double share =
        static_cast<double>(done_) / static_cast<double>(std::max<int64_t>(total_, 1));
    const std::vector<std::string> parts = {
        "epoch " + std::to_string(epoch_ + 1) + "/" + std::to_string(n_epoch_),
        "  loss " + error_text(loss_),
        "  validation " + error_text(validation_),
        "  rate " + number(learning_rate_),
        "  " + number(rate_) + " samples/s",
        time_left()};
    redraw(progress_bar(share), fitted(parts, {3, 4, 2, 1}, columns_beside_bar()));
    drawn_s_ = now_s();
}

double TrainProgress::take_rate() {
    seconds_ = now_s() - epoch_s_;
    const double rate = static_cast<double>(n_sample_) / std::max(seconds_, 1e-9);
    epoch_s_ = now_s();
    n_sample_ = 0;
    return rate;
}

void TrainProgress::epoch(const EpochRow& row) {
    epoch_ = row.epoch;
    validation_ = row.validation;
    if (is_silent_ || is_terminal_) return;
    print_error("surrogate: epoch " + std::to_string(row.epoch) + " of " +
                std::to_string(n_epoch_) + ": loss " + error_text(row.loss) + ", validation " +
                error_text(row.validation) + (row.is_best ? " (best)" : "") + ", rate " +
                number(row.learning_rate) + ", " + number(row.samples_per_s) + " samples/s" +
                time_left());
}

void TrainProgress::note(const std::string& text) const {
    if (!is_silent_) say(text);
}

void TrainProgress::warn(const std::string& text) const {
    say("warning: " + text);
}

void TrainProgress::say(const std::string& text) const {
    if (is_terminal_ && drawn_s_ > 0) redraw("", "");
    print_error("surrogate: " + text);
}

}  // namespace surrogate::tool
