// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "kernels/losses/pair_loss.hpp"

namespace surrogate::impl {

/// In the order of the values of the setting `loss`.
enum class LossKind {
    relative_l2,
    mse,
    weighted_mse,
    gradient_l2,
    l1,
    huber,
    l1_w11,
    cross_entropy,
    focal,
    infonce,
    custom
};
/// Returns true if the targets of a loss are labels of classes.
constexpr bool uses_classes(LossKind loss) {
    return loss == LossKind::cross_entropy || loss == LossKind::focal;
}
enum class OptimizerKind { adamw, adam, sgd };
enum class ScheduleKind { constant, one_cycle, cosine, plateau, step };

/// Values of a training's settings. The comments of surrogate_train.h say what they mean.
struct Recipe {
    LossKind loss = LossKind::relative_l2;
    double gradient_weight = 0.1, huber_delta = 1, label_smoothing = 0;
    double w11_weight = 0.1, focal_alpha = 0.25, focal_gamma = 2;
    double pair_radius = 1, pair_random = 0.1;  ///< loss=infonce
    int64_t pair_neighbors = 256;
    kernels::losses::Similarity similarity;
    OptimizerKind optimizer = OptimizerKind::adamw;
    double learning_rate = 1e-3, weight_decay = 1e-5;
    bool decays_all = false;
    double beta1 = 0.9;  ///< optimizer=sgd: the momentum
    double beta2 = 0.999, epsilon = 1e-8;
    bool is_nesterov = false;  ///< optimizer=sgd
    double max_grad_norm = 1;
    double ema_decay = 0;
    ScheduleKind schedule = ScheduleKind::constant;
    int64_t n_step = 0;
    double warmup = 0;  ///< one_cycle: fraction of the steps; otherwise steps
    double initial_divisor = 1e4, final_divisor = 1e4;
    bool cycles_momentum = true;
    int64_t step_size = 0;  ///< schedule=step: steps between two reductions of the rate
    double gamma = 0.1;     ///< schedule=step: factor of a reduction
    double plateau_factor = 0.5;
    int64_t plateau_patience = 10;
    double noise = 0;
    bool has_dropout = true;          ///< the card's rates are applied
    bool are_clouds_samples = false;  ///< sample=cloud
    int64_t accumulate = 1, bucket = 1 << 20, max_nonfinite_steps = 0, reservoir = 0, seed = 0;
};

/// Checked key = value pairs of a training; the table of keys, with their defaults, stands in
/// settings.cpp and is the one that surrogate_train.h documents.
class TrainingSettings {
public:
    /// Throws unknown_name (near misses) or invalid_argument (says what is allowed).
    void set(std::string_view key, std::string_view value);

    /// Returns all settings as numbers. Throws invalid_argument if they contradict each other.
    Recipe recipe() const;

    /// Returns all keys with their values, also keys with defaults; numbers in their shortest form.
    std::map<std::string, std::string> all() const;

    /// Returns all() with the keys and losses of version 0.1, which checkpoints keep. Keys that
    /// version 0.1 does not have are left out if they have their defaults.
    std::map<std::string, std::string> stored() const;
    /// Returns the present key of a stored one.
    static std::string_view present_key(std::string_view stored);

    /// Returns lines for the log about old names that were used, or "".
    const std::string& old_names() const { return old_names_; }

private:
    void add_old_name(const std::string& text);

    std::map<std::string, std::string, std::less<>> values_;
    std::string old_names_;
};

}  // namespace surrogate::impl
