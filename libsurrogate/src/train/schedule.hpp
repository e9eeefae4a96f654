// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "libsurrogate/src/train/settings.hpp"

namespace surrogate::impl {

/// Factors of an optimizer step.
struct Rate {
    double learning_rate = 0, beta1 = 0;
};

/// Returns the factors of step j = 0, 1, .. of a recipe; n_drop: how often schedule=plateau has
/// lowered the rate.
///   one_cycle   with T steps, share w of them warm-up, lr0 = lr / initial_divisor,
///               lr1 = lr0 / final_divisor, e1 = w T - 1, e2 = T - 1,
///               c(a, b, p) = b + (a - b) / 2 (1 + cos(pi p)):
///                 j <= e1:  p = j / e1 (0 if e1 = 0),     c(lr0, lr, p),  beta1 c(0.95, 0.85, p)
///                 else:     p = (j - e1) / (e2 - e1),     c(lr, lr1, p),  beta1 c(0.85, 0.95, p)
///   cosine      after W steps of warm-up c(lr, lr / final_divisor, (j - W) / (T - W))
///   step        lr gamma^(j / step_size), integer division
///   warm-up     of the others: lr (j + 1) / W in steps j < W
/// Steps behind the last one have the rate of the end.
/// Source: PyTorch's OneCycleLR, CosineAnnealingLR, StepLR, LinearLR; spec of FLARE, section 7.
Rate rate_at(const Recipe& recipe, int64_t step, int64_t n_drop);

/// Watches validations for schedule=plateau: a number that is smaller than all before is better.
struct Plateau {
    double best = 0;
    int64_t n_seen = 0;
    int64_t n_worse = 0;  ///< in a row
    int64_t n_drop = 0;

    /// Returns whether `error` is the best so far.
    bool note(const Recipe& recipe, double error);
};

}  // namespace surrogate::impl
