// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/train/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace surrogate::impl {

namespace {

double cosine(double from, double to, double share) {
    return to + (from - to) / 2 * (1 + std::cos(std::numbers::pi * share));
}

Rate one_cycle(const Recipe& recipe, double j) {
    const double n_step = static_cast<double>(recipe.n_step);
    const double lr = recipe.learning_rate;
    const double first = lr / recipe.initial_divisor;
    const double last = first / recipe.final_divisor;
    const double top = recipe.warmup * n_step - 1, end = n_step - 1;
    Rate rate{0, recipe.beta1};
    const bool rises = j <= top;
    double share = 0;
    if (rises && top > 0) share = j / top;
    if (!rises) share = end > top ? (j - top) / (end - top) : 1;
    rate.learning_rate = rises ? cosine(first, lr, share) : cosine(lr, last, share);
    if (recipe.cycles_momentum)
        rate.beta1 = rises ? cosine(0.95, 0.85, share) : cosine(0.85, 0.95, share);
    return rate;
}

}  // namespace

Rate rate_at(const Recipe& recipe, int64_t step, int64_t n_drop) {
    if (recipe.schedule == ScheduleKind::one_cycle)
        return one_cycle(recipe, static_cast<double>(std::min(step, recipe.n_step - 1)));
    Rate rate{recipe.learning_rate, recipe.beta1};
    for (int64_t i = 0; i < n_drop; ++i) rate.learning_rate *= recipe.plateau_factor;
    if (recipe.schedule == ScheduleKind::step)
        for (int64_t i = 0; i < step / recipe.step_size; ++i) rate.learning_rate *= recipe.gamma;
    const double j = static_cast<double>(step), warmup = recipe.warmup;
    if (j < warmup) {
        rate.learning_rate *= (j + 1) / warmup;
    } else if (recipe.schedule == ScheduleKind::cosine) {
        const double n_step = static_cast<double>(recipe.n_step);
        const double share = j < n_step ? (j - warmup) / (n_step - warmup) : 1;
        rate.learning_rate =
            cosine(recipe.learning_rate, recipe.learning_rate / recipe.final_divisor, share);
    }
    return rate;
}

bool Plateau::note(const Recipe& recipe, double error) {
    const bool is_best = std::isfinite(error) && (n_seen == 0 || error < best);
    if (std::isfinite(error)) ++n_seen;
    if (is_best) {
        best = error;
        n_worse = 0;
        return true;
    }
    if (++n_worse >= recipe.plateau_patience) {
        n_worse = 0;
        if (recipe.schedule == ScheduleKind::plateau) ++n_drop;
    }
    return false;
}

}  // namespace surrogate::impl
