// SPDX-License-Identifier: Apache-2.0
#ifndef SURROGATE_TRAIN_HPP
#define SURROGATE_TRAIN_HPP

// The C interface of surrogate_train.h as owners and exceptions; header-only, C++17. Settings,
// shapes, collectivity and errors are documented there. A call that fails throws surrogate::Error.
//
//     surrogate::Plan plan(model, domain, {{"gradients", "true"}});
//     plan.bind_input("mobility", surrogate::column(mobility), "m^2/(Pa s)");
//     surrogate::Trainer trainer(plan, {{"learning_rate", "1e-3"}});
//     trainer.bind_target("pressure", surrogate::column(solved), "Pa");
//     while (next_sample()) trainer.step();
//     trainer.save_model("new.safetensors");

#include <surrogate/surrogate_train.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <surrogate/surrogate.hpp>
#include <utility>
#include <vector>

namespace surrogate {

/// Settings of a trainer.
class TrainerOptions {
public:
    TrainerOptions(std::initializer_list<std::pair<const char*, std::string>> options = {})
        : handle_(detail::made<surrogate_trainer_options>(
              [](auto handle) { return surrogate_trainer_options_create(handle); })) {
        for (const auto& [key, value] : options) set(key, value);
    }
    void set(const std::string& key, const std::string& value) {
        check(surrogate_trainer_options_set(get(), key.c_str(), value.c_str()));
    }
    surrogate_trainer_options* get() const { return handle_.get(); }

private:
    detail::Owner<surrogate_trainer_options, surrogate_trainer_options_destroy> handle_;
};

/// Weights of a training.
enum class WeightSet : int32_t {
    weights = SURROGATE_WEIGHTS,
    ema = SURROGATE_EMA,
    best = SURROGATE_BEST
};

/// Trains the model of a plan, which must live as long.
class Trainer {
public:
    explicit Trainer(Plan& plan, const TrainerOptions& options = {})
        : handle_(made(plan, nullptr, options)) {}
    /// Trains together with the other groups of `data_parallel`.
    Trainer(Plan& plan, const Context& data_parallel, const TrainerOptions& options)
        : handle_(made(plan, data_parallel.get(), options)) {}

    void bind_target(const std::string& name, const surrogate_array& array,
                     const char* unit = nullptr) {
        check(surrogate_trainer_bind_target(get(), name.c_str(), unit, &array));
    }
    void bind_target(const std::string& name, const surrogate_block& block,
                     const char* unit = nullptr) {
        check(surrogate_trainer_bind_target_block(get(), name.c_str(), unit, &block));
    }
    void bind_labels(const surrogate_array& labels) {
        check(surrogate_trainer_bind_labels(get(), &labels));
    }
    void set_class_weights(const std::vector<double>& weights) {
        check(surrogate_trainer_set_class_weights(get(), weights.data(),
                                                  static_cast<int64_t>(weights.size())));
    }
    void bind_gradient(const std::string& name, const surrogate_array& array,
                       const char* unit = nullptr) {
        check(surrogate_trainer_bind_gradient(get(), name.c_str(), unit, &array));
    }
    void bind_gradient(const std::string& name, const surrogate_block& block,
                       const char* unit = nullptr) {
        check(surrogate_trainer_bind_gradient_block(get(), name.c_str(), unit, &block));
    }
    void set_point_weights(const surrogate_array& weights) {
        check(surrogate_trainer_set_point_weights(get(), &weights));
    }
    void set_scale(const std::string& output, double scale) {
        check(surrogate_trainer_set_scale(get(), output.c_str(), scale));
    }
    void set_grid_shape(int64_t n_x, int64_t n_y) {
        check(surrogate_trainer_set_grid_shape(get(), n_x, n_y));
    }

    /// Returns the loss of the sample.
    double accumulate() {
        double loss = 0;
        check(surrogate_trainer_accumulate(get(), &loss));
        return loss;
    }
    void forward() { check(surrogate_trainer_forward(get())); }
    void backward(double loss) { check(surrogate_trainer_backward(get(), loss)); }
    surrogate_step_report apply() { return report(surrogate_trainer_apply); }
    surrogate_step_report step() { return report(surrogate_trainer_step); }

    /// Loss of the bound sample, and the error of each output of the card.
    struct Validation {
        double loss = 0;
        std::vector<double> error;
    };
    Validation validate(int32_t n_output) {
        Validation found{0, std::vector<double>(static_cast<std::size_t>(n_output))};
        check(surrogate_trainer_validate(get(), &found.loss, found.error.data()));
        return found;
    }
    void add_validation_loss(double loss) {
        check(surrogate_trainer_add_validation_loss(get(), loss));
    }
    struct ValidationSummary {
        double mean_loss = 0;
        bool is_best = false;
    };
    ValidationSummary end_validation() {
        ValidationSummary found;
        int32_t is_best = 0;
        check(surrogate_trainer_end_validation(get(), &found.mean_loss, &is_best));
        found.is_best = is_best != 0;
        return found;
    }

    /// Returns how many samples the reservoir holds.
    int64_t reservoir_add() {
        int64_t n = 0;
        check(surrogate_trainer_reservoir_add(get(), &n));
        return n;
    }
    surrogate_step_report reservoir_step(int64_t n_steps) {
        surrogate_step_report found{};
        check(surrogate_trainer_reservoir_step(get(), n_steps, &found));
        return found;
    }

    /// Extends the ranges of the card to the trained samples. Returns how many ranges changed.
    int32_t widen_ranges() {
        int32_t n = 0;
        check(surrogate_trainer_widen_ranges(get(), &n));
        return n;
    }

    /// card: JSON in place of the model's, or null.
    void save_model(const std::string& path, WeightSet which = WeightSet::weights,
                    const char* card = nullptr) {
        check(surrogate_trainer_save_model(get(), static_cast<int32_t>(which), card, path.c_str()));
    }
    void save(const std::string& path, const std::string& note = {}) {
        check(surrogate_trainer_save(get(), note.c_str(), path.c_str()));
    }
    /// Returns the note of the checkpoint.
    std::string restore(const std::string& path) {
        check(surrogate_trainer_restore(get(), path.c_str()));
        return detail::text_of(get(), surrogate_trainer_note);
    }

    std::string describe() const { return detail::text_of(get(), surrogate_trainer_describe); }
    int64_t counter(const char* key) const {
        int64_t value = 0;
        check(surrogate_trainer_counter(get(), key, &value));
        return value;
    }
    surrogate_trainer* get() const { return handle_.get(); }

private:
    static surrogate_trainer* made(Plan& plan, surrogate_context* data_parallel,
                                   const TrainerOptions& options) {
        return detail::made<surrogate_trainer>([&](auto handle) {
            return surrogate_trainer_create(plan.get(), data_parallel, options.get(), handle);
        });
    }
    surrogate_step_report report(surrogate_status (*call)(surrogate_trainer*,
                                                          surrogate_step_report*)) {
        surrogate_step_report found{};
        check(call(get(), &found));
        return found;
    }

    detail::Owner<surrogate_trainer, surrogate_trainer_destroy> handle_;
};

/// A model with weights drawn from a seed; see surrogate_model_initialize_scaled. card: on rank 0.
inline Model initialized_model(const Context& context, const std::string& card, int64_t seed,
                               double output_scale = 1) {
    return Model(detail::made<surrogate_model>([&](auto handle) {
        return surrogate_model_initialize_scaled(context.get(), card.c_str(), seed, output_scale,
                                                 handle);
    }));
}

}  // namespace surrogate

#endif
