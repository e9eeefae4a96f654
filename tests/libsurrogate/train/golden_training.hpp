// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <surrogate/surrogate_train.hpp>
#include <vector>

#include "libsurrogate/src/api/handles.hpp"
#include "tests/support/golden_writer.hpp"

namespace surrogate::test {

/// The training trace of FLARE's official code: 4 samples of 48 points, weights, and what became of
/// them in 20 steps of two samples each.
inline const GoldenFile& golden_training() {
    static const GoldenFile file(SURROGATE_TEST_DATA "/flare/train.safetensors");
    return file;
}

constexpr int64_t n_golden_point = 48;
constexpr double golden_mean = 0.4, golden_std = 1.5;  // of the target decoder

/// Its model as a file with fields: a, b to u. Every process writes its own.
inline std::string golden_training_model() {
    ModelWriter writer = writer_of(golden_training());
    const auto field = [](const char* name) {
        return nlohmann::json{{"name", name}, {"role", "field"}, {"unit", ""}, {"mean", 0},
                              {"std", 1},     {"min", -10},      {"max", 10}};
    };
    writer.card["inputs"] = {field("a"), field("b")};
    writer.card["outputs"] = {
        {{"name", "u"}, {"unit", "m"}, {"mean", golden_mean}, {"std", golden_std}, {"max", 10}}};
    return written(writer, "golden_training");
}

using Settings = std::map<std::string, std::string>;

/// The settings of the trace.
inline Settings golden_settings() {
    return {{"learning_rate", "1e-3"}, {"weight_decay", "0.1"}, {"max_grad_norm", "1"},
            {"schedule", "one_cycle"}, {"steps", "20"},         {"warmup", "0.1"},
            {"ema_decay", "0.999"},    {"accumulate", "2"}};
}

inline TrainerOptions training_of(const Settings& settings) {
    TrainerOptions training;
    for (const auto& [key, value] : settings) training.set(key, value);
    return training;
}

/// A trainer of that model, and the arrays that it is bound to.
struct GoldenRun {
    /// shared: of the ranks of a group, which have these rows; across: of all groups, or none.
    GoldenRun(Context shared, std::optional<Context> all, std::vector<int64_t> own_rows,
              std::map<std::string, std::string> options, const Settings& settings)
        : context(std::move(shared)),
          across(std::move(all)),
          model(context, golden_training_model()),
          rows(std::move(own_rows)),
          a(rows.size()),
          b(rows.size()),
          target(rows.size()),
          u(rows.size()),
          place(rows.begin(), rows.end()),
          domain(context, column(place.data(), n()), rows.data()),
          plan(model, domain, with_gradients(std::move(options))),
          trainer(across ? Trainer(plan, *across, training_of(settings))
                         : Trainer(plan, training_of(settings))) {
        plan.bind_input("a", column(a.data(), n()));
        plan.bind_input("b", column(b.data(), n()));
        const auto loss = settings.find("loss");
        if (loss != settings.end() && loss->second == "custom") return;
        trainer.bind_target("u", column(target.data(), n()), "m");
    }
    /// On one rank.
    explicit GoldenRun(std::map<std::string, std::string> options = {},
                       const Settings& settings = golden_settings())
        : GoldenRun(Context(), {}, all_rows(), std::move(options), settings) {}
    GoldenRun(const GoldenRun&) = delete;
    GoldenRun& operator=(const GoldenRun&) = delete;

    static std::vector<int64_t> all_rows() {
        std::vector<int64_t> rows(static_cast<size_t>(n_golden_point));
        std::iota(rows.begin(), rows.end(), int64_t{0});
        return rows;
    }
    static Options with_gradients(std::map<std::string, std::string> options) {
        Options all;
        options.emplace("gradients", "true");
        options.emplace("threads", "1");
        for (const auto& [key, value] : options) all.set(key.c_str(), value.c_str());
        return all;
    }
    int64_t n() const { return std::ssize(rows); }

    /// Sample 0 .. 3 to the bound arrays.
    void load(int64_t sample) {
        static const GoldenTensor x = golden_training().tensor("check/input/x");
        static const GoldenTensor t = golden_training().tensor("check/input/target");
        for (size_t i = 0; i < rows.size(); ++i) {
            const auto row = static_cast<size_t>(sample * n_golden_point + rows[i]);
            a[i] = x.values[2 * row];
            b[i] = x.values[2 * row + 1];
            target[i] = t.values[row] * golden_std + golden_mean;
        }
    }
    /// Sample `which` of step j of the trace.
    static int64_t golden_sample(int64_t step, int64_t which) {
        static const GoldenTensor batches = golden_training().tensor("check/input/batches");
        return static_cast<int64_t>(batches.values[static_cast<size_t>(2 * step + which)]);
    }
    /// One step of the trace by this group alone.
    surrogate_step_report golden_step(int64_t step) {
        surrogate_step_report report{};
        for (int64_t which = 0; which < 2; ++which) {
            load(golden_sample(step, which));
            report = trainer.step();
        }
        return report;
    }
    /// The weights in double.
    std::vector<double> weights() const {
        const auto precise = model.get()->model->weights()->precise();
        return {precise.begin(), precise.end()};
    }

    Context context;
    std::optional<Context> across;
    Model model;
    std::vector<int64_t> rows;
    std::vector<double> a, b, target, u, place;
    Domain domain;
    Plan plan;
    Trainer trainer;
};

}  // namespace surrogate::test
