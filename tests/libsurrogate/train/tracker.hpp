// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "tests/libsurrogate/train/golden_training.hpp"
#include "tests/support/answer.hpp"

namespace surrogate::test {

/// A trainer of embeddings of the hits of one event, on one rank: 12 particles of six hits each on
/// nearly straight tracks from the origin, and nine hits of no particle.
struct Tracker {
    explicit Tracker(const Settings& settings = {}, const Settings& more = {},
                     const std::optional<Context>& across = {}, bool is_permuted = false)
        : order(static_cast<size_t>(n)),
          model(initialized_model(context, card(), 1)),
          domain(make(0, is_permuted)),
          plan(model, domain, options(more)),
          trainer(across ? Trainer(plan, *across, training(settings))
                         : Trainer(plan, training(settings))) {
        for (size_t c = 0; c < 3; ++c) plan.bind_input("f" + std::to_string(c), feature(c));
    }

    static constexpr int64_t n_track = 12, n_layer = 6, n = n_track * n_layer + 9;
    static std::string card() {
        nlohmann::json inputs, outputs;
        for (const char* name : {"eta", "phi"})
            inputs.push_back({{"name", name},
                              {"unit", "1"},
                              {"mean", 0},
                              {"std", 1},
                              {"role", "coordinate"},
                              {"axis", std::string(name) == "eta" ? 0 : 1}});
        for (const char* name : {"f0", "f1", "f2"})
            inputs.push_back({{"name", name}, {"unit", "1"}, {"mean", 0}, {"std", 1}});
        for (const char* name : {"e0", "e1", "e2", "e3"})
            outputs.push_back({{"name", name}, {"unit", "1"}, {"mean", 0}, {"std", 1}});
        return nlohmann::json{{"format", 1},
                              {"family", "hept"},
                              {"network",
                               {{"in_dim", 3},
                                {"coords_dim", 2},
                                {"h_dim", 8},
                                {"num_heads", 2},
                                {"n_layers", 1},
                                {"n_hashes", 2},
                                {"block_size", 16},
                                {"num_regions", 9}}},
                              {"inputs", inputs},
                              {"outputs", outputs}}
            .dump();
    }
    static Options options(const Settings& more) {
        Options options{{"gradients", "true"}, {"threads", "1"}};
        for (const auto& [key, value] : more) options.set(key, value);
        return options;
    }
    static TrainerOptions training(Settings settings) {
        settings.insert({{"loss", "infonce"}, {"learning_rate", "3e-3"}, {"weight_decay", "0"}});
        return training_of(settings);
    }
    /// Fills the arrays with an event.
    void fill(int64_t event, bool is_permuted) {
        std::iota(order.begin(), order.end(), 0);
        if (is_permuted)
            std::sort(order.begin(), order.end(), [](int64_t a, int64_t b) {
                return std::pair(a * 37 % n, a) < std::pair(b * 37 % n, b);
            });
        points.clear(), features.clear(), labels.clear(), weights.clear();
        for (const int64_t id : order) {
            const double p = static_cast<double>(id / n_layer),
                         l = static_cast<double>(id % n_layer);
            const double s = static_cast<double>(event);
            const bool is_noise = id >= n_track * n_layer;
            const double eta = 1.5 * std::sin(1.7 * p + s) + 0.05 * std::sin(5 * l + p);
            const double phi = 3 * std::sin(2.3 * p + 0.4 * s + (is_noise ? l : 0)) + 0.05 * l;
            points.insert(points.end(), {eta, phi});
            features.insert(features.end(), {eta, phi, l / n_layer});
            // Ids of more than 53 bits, as in data of detectors.
            labels.push_back(is_noise ? -100 : (int64_t{1} << 60) + id / n_layer);
            weights.push_back(id / n_layer == 2 ? 0 : 1);
        }
    }
    Domain make(int64_t event, bool is_permuted) {
        fill(event, is_permuted);
        return Domain(context, matrix(points.data(), n, 2), order.data());
    }
    /// Moves the points to another event.
    void load(int64_t event) {
        fill(event, false);
        domain.update_points(matrix(points.data(), n, 2), order.data());
    }
    surrogate_array feature(size_t c) {
        return {features.data() + c, {n, 1}, {3, 1}, SURROGATE_FLOAT64, SURROGATE_HOST};
    }
    surrogate_array label_array() {
        return {labels.data(), {n, 1}, {1, 1}, SURROGATE_INT64, SURROGATE_HOST};
    }
    Tracker& bind() {
        trainer.bind_labels(label_array());
        trainer.set_point_weights(column(weights.data(), n));
        return *this;
    }
    std::vector<double> parameters() const {
        const auto precise = model.get()->model->weights()->precise();
        return {precise.begin(), precise.end()};
    }
    Answer step_answer() { return answer(surrogate_trainer_step(trainer.get(), nullptr)); }

    Context context;
    std::vector<int64_t> order, labels;
    std::vector<double> points, features, weights;
    Model model;
    Domain domain;
    Plan plan;
    Trainer trainer;
};

}  // namespace surrogate::test
