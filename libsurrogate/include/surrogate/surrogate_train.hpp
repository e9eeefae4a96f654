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

/// Settings of a trainer; see surrogate_trainer_options_create.
class TrainerOptions {
public:
    /// Creates settings; keys that are not listed have their defaults.
    TrainerOptions(std::initializer_list<std::pair<const char*, std::string>> options = {})
        : handle_(detail::made<surrogate_trainer_options>(
              [](auto handle) { return surrogate_trainer_options_create(handle); })) {
        for (const auto& [key, value] : options) set(key, value);
    }
    /// Sets one setting; see surrogate_trainer_options_set.
    void set(const std::string& key, const std::string& value) {
        check(surrogate_trainer_options_set(get(), key.c_str(), value.c_str()));
    }
    /// Returns the handle of the C interface, borrowed.
    surrogate_trainer_options* get() const { return handle_.get(); }

private:
    detail::Owner<surrogate_trainer_options, surrogate_trainer_options_destroy> handle_;
};

/// Weights of a training that a model file may receive.
enum class WeightSet : int32_t {
    weights = SURROGATE_WEIGHTS,  ///< the current ones
    ema = SURROGATE_EMA,          ///< their exponential moving average
    best = SURROGATE_BEST         ///< those with the smallest error of the validations
};

/// Optimizer, schedule and losses of the model of a plan, which must outlive the trainer.
class Trainer {
public:
    /// Creates a trainer on the ranks of the plan. Collective; see surrogate_trainer_create.
    explicit Trainer(Plan& plan, const TrainerOptions& options = {})
        : handle_(made(plan, nullptr, options)) {}
    /// Creates a trainer that trains together with the other groups of `data_parallel`. Collective;
    /// see surrogate_trainer_create.
    Trainer(Plan& plan, const Context& data_parallel, const TrainerOptions& options)
        : handle_(made(plan, data_parallel.get(), options)) {}

    /// Binds the target of an output; see surrogate_trainer_bind_target.
    void bind_target(const std::string& name, const surrogate_array& array,
                     const char* unit = nullptr) {
        check(surrogate_trainer_bind_target(get(), name.c_str(), unit, &array));
    }
    /// Binds the target of an output in a block; see surrogate_trainer_bind_target_block.
    void bind_target(const std::string& name, const surrogate_block& block,
                     const char* unit = nullptr) {
        check(surrogate_trainer_bind_target_block(get(), name.c_str(), unit, &block));
    }
    /// Binds the classes of the points; see surrogate_trainer_bind_labels.
    void bind_labels(const surrogate_array& labels) {
        check(surrogate_trainer_bind_labels(get(), &labels));
    }
    /// Sets the weights of classes; see surrogate_trainer_set_class_weights.
    void set_class_weights(const std::vector<double>& weights) {
        check(surrogate_trainer_set_class_weights(get(), weights.data(),
                                                  static_cast<int64_t>(weights.size())));
    }
    /// Binds the derivatives of the caller's own loss; see surrogate_trainer_bind_gradient.
    void bind_gradient(const std::string& name, const surrogate_array& array,
                       const char* unit = nullptr) {
        check(surrogate_trainer_bind_gradient(get(), name.c_str(), unit, &array));
    }
    /// Binds the derivatives of the caller's own loss in a block; see
    /// surrogate_trainer_bind_gradient_block.
    void bind_gradient(const std::string& name, const surrogate_block& block,
                       const char* unit = nullptr) {
        check(surrogate_trainer_bind_gradient_block(get(), name.c_str(), unit, &block));
    }
    /// Sets the weights of points [n_local, 1]; see surrogate_trainer_set_point_weights.
    void set_point_weights(const surrogate_array& weights) {
        check(surrogate_trainer_set_point_weights(get(), &weights));
    }
    /// Sets the divisor of the errors of an output; see surrogate_trainer_set_scale.
    void set_scale(const std::string& output, double scale) {
        check(surrogate_trainer_set_scale(get(), output.c_str(), scale));
    }
    /// Declares that the points are a structured grid; see surrogate_trainer_set_grid_shape.
    void set_grid_shape(int64_t n_x, int64_t n_y) {
        check(surrogate_trainer_set_grid_shape(get(), n_x, n_y));
    }

    /// Adds the gradient of the bound sample to the current step, and returns its loss. Collective;
    /// see surrogate_trainer_accumulate.
    double accumulate() {
        double loss = 0;
        check(surrogate_trainer_accumulate(get(), &loss));
        return loss;
    }
    /// Evaluates the bound inputs for the caller's own loss. Collective; see
    /// surrogate_trainer_forward.
    void forward() { check(surrogate_trainer_forward(get())); }
    /// Runs the backward pass with the bound derivatives. Collective; see
    /// surrogate_trainer_backward.
    void backward(double loss) { check(surrogate_trainer_backward(get(), loss)); }
    /// Makes an optimizer step with the accumulated gradients. Collective; see
    /// surrogate_trainer_apply.
    surrogate_step_report apply() { return report(surrogate_trainer_apply); }
    /// Accumulates the bound sample, and makes the step when it is due. Collective; see
    /// surrogate_trainer_step.
    surrogate_step_report step() { return report(surrogate_trainer_step); }

    /// Loss of the bound sample, and the error of each output of the card.
    struct Validation {
        double loss = 0;            ///< loss of the sample
        std::vector<double> error;  ///< [n_output] as in surrogate_trainer_validate
    };
    /// Returns loss and errors of the bound sample without training; n_output: outputs of the card.
    /// Collective over the plan; see surrogate_trainer_validate.
    Validation validate(int32_t n_output) {
        Validation found{0, std::vector<double>(static_cast<std::size_t>(n_output))};
        check(surrogate_trainer_validate(get(), &found.loss, found.error.data()));
        return found;
    }
    /// Adds the caller's own loss of a sample to the validation. Collective over the plan; see
    /// surrogate_trainer_add_validation_loss.
    void add_validation_loss(double loss) {
        check(surrogate_trainer_add_validation_loss(get(), loss));
    }
    /// Result of a validation.
    struct ValidationSummary {
        double mean_loss = 0;  ///< mean over the validated samples
        bool is_best = false;  ///< true: the smallest so far
    };
    /// Ends a validation, and keeps the weights if they are the best so far. Collective; see
    /// surrogate_trainer_end_validation.
    ValidationSummary end_validation() {
        ValidationSummary found;
        int32_t is_best = 0;
        check(surrogate_trainer_end_validation(get(), &found.mean_loss, &is_best));
        found.is_best = is_best != 0;
        return found;
    }

    /// Copies the bound sample into the reservoir, and returns the number of samples in it.
    /// Collective; see surrogate_trainer_reservoir_add.
    int64_t reservoir_add() {
        int64_t n = 0;
        check(surrogate_trainer_reservoir_add(get(), &n));
        return n;
    }
    /// Makes steps on samples of the reservoir. Collective; see surrogate_trainer_reservoir_step.
    surrogate_step_report reservoir_step(int64_t n_steps) {
        surrogate_step_report found{};
        check(surrogate_trainer_reservoir_step(get(), n_steps, &found));
        return found;
    }

    /// Extends the ranges of the card to the trained samples, and returns the number of ranges that
    /// changed. Collective; see surrogate_trainer_widen_ranges.
    int32_t widen_ranges() {
        int32_t n = 0;
        check(surrogate_trainer_widen_ranges(get(), &n));
        return n;
    }

    /// Writes a model file; card: JSON in place of the model's, or null. Collective; see
    /// surrogate_trainer_save_model.
    void save_model(const std::string& path, WeightSet which = WeightSet::weights,
                    const char* card = nullptr) {
        check(surrogate_trainer_save_model(get(), static_cast<int32_t>(which), card, path.c_str()));
    }
    /// Writes a checkpoint; note: text kept with it. Collective; see surrogate_trainer_save.
    void save(const std::string& path, const std::string& note = {}) {
        check(surrogate_trainer_save(get(), note.c_str(), path.c_str()));
    }
    /// Restores a checkpoint, and returns its note. Collective; see surrogate_trainer_restore.
    std::string restore(const std::string& path) {
        check(surrogate_trainer_restore(get(), path.c_str()));
        return detail::text_of(get(), surrogate_trainer_note);
    }

    /// Returns a table for a log; see surrogate_trainer_describe.
    std::string describe() const { return detail::text_of(get(), surrogate_trainer_describe); }
    /// Returns a counter of this rank; see surrogate_trainer_counter.
    int64_t counter(const char* key) const {
        int64_t value = 0;
        check(surrogate_trainer_counter(get(), key, &value));
        return value;
    }
    /// Returns the handle of the C interface, borrowed.
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

/// Creates a model with weights drawn from a seed; card: JSON, on rank 0. Collective; see
/// surrogate_model_initialize_scaled.
inline Model initialized_model(const Context& context, const std::string& card, int64_t seed,
                               double output_scale = 1) {
    return Model(detail::made<surrogate_model>([&](auto handle) {
        return surrogate_model_initialize_scaled(context.get(), card.c_str(), seed, output_scale,
                                                 handle);
    }));
}

}  // namespace surrogate

#endif
