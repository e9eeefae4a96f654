// SPDX-License-Identifier: Apache-2.0
#include "coupling/timeloop/limits.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "coupling/timeloop/guard.hpp"

namespace surrogate::timeloop {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

double end_of(double end, bool is_single) {
    constexpr double largest = std::numeric_limits<float>::max();
    if (!is_single || std::abs(end) == infinity) return end;
    if (std::abs(end) > largest) return std::copysign(infinity, end);
    return static_cast<double>(static_cast<float>(end));
}

}  // namespace

void Limits::begin(double min, double max, bool is_single, double slack) {
    min_ = end_of(min, is_single);
    max_ = end_of(max, is_single);
    constexpr double huge = std::numeric_limits<double>::max() / 4;  // no slack: it could overflow
    const auto slack_at = [&](double end) {
        if (std::abs(end) > huge) return 0.0;
        const double other = end == min_ ? max_ : min_;
        const double width = std::abs(other) > huge ? 0 : std::abs(other - end);
        return slack * (width > 0 ? width : std::abs(end));
    };
    lowest_ = min_ - slack_at(min_);
    highest_ = max_ + slack_at(max_);
    n_outside_ = 0;
    largest_ = -infinity;
    smallest_ = infinity;
}

void Limits::note(int64_t n, double value) {
    if (n == 0) return;
    n_outside_ += n;
    largest_ = std::max(largest_, value);
    smallest_ = std::min(smallest_, value);
}

void Limits::look(std::span<double> values, bool moves) {
    if (min_ == -infinity && max_ == infinity) return;
    // Quiet comparisons, because a host may trap comparisons with NaN.
    const double lowest = moves ? min_ : lowest_, highest = moves ? max_ : highest_;
    const auto is_outside = [=](double value) {
        return std::isless(value, lowest) || std::isgreater(value, highest);
    };
    int64_t n = 0;
    for (const double value : values) n += is_outside(value);
    if (n == 0) return;
    for (double& value : values) {
        if (!is_outside(value) || !std::isfinite(value)) continue;
        note(1, value);
        if (moves) value = std::clamp(value, min_, max_);
    }
}

void Limits::write_worst(double* worst) const {
    worst[0] = largest_;
    worst[1] = -smallest_;
}

void Limits::complete(const double* worst, Finding* finding) const {
    const double largest = worst[0], smallest = -worst[1];
    const bool is_above =
        largest > max_ && (!(smallest < min_) || largest - max_ >= min_ - smallest);
    finding->value = is_above ? largest : smallest;
    finding->limit = is_above ? max_ : min_;
}

}  // namespace surrogate::timeloop
