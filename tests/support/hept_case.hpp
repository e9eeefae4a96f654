// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <random>
#include <surrogate/surrogate.hpp>
#include <vector>

#include "tests/support/answer.hpp"
#include "tests/support/golden_file.hpp"

namespace surrogate::test {

/// Points with their features; clouds if there are several.
struct Hits {
    int64_t n = 0, n_axis = 2, n_feature = 2;
    std::vector<double> x, features;
    std::vector<int64_t> ids;
    std::vector<int64_t> clouds;  ///< empty: one

    surrogate_points points() const {
        return {matrix(x.data(), n, n_axis), ids.data(), clouds.empty() ? nullptr : clouds.data(),
                nullptr};
    }

    /// Numbers of a generator, exact in single precision.
    static Hits random(const nlohmann::json& network, int64_t n) {
        Hits hits;
        hits.n = n;
        hits.n_axis = network.at("coords_dim");
        hits.n_feature = network.at("in_dim");
        std::mt19937 generator(5);
        const auto next = [&] {
            return static_cast<double>(std::uniform_real_distribution<float>(-1, 1)(generator));
        };
        for (int64_t i = 0; i < n * hits.n_axis; ++i) hits.x.push_back(next());
        for (int64_t i = 0; i < n * hits.n_feature; ++i) hits.features.push_back(next());
        for (int64_t i = 0; i < n; ++i) hits.ids.push_back(i);
        if (network.value("task", "tracking") == "pileup")
            for (int64_t i = 0; i < n; ++i)
                hits.features[static_cast<size_t>((i + 1) * hits.n_feature - 1)] =
                    static_cast<double>(i * i % 7);
        return hits;
    }

    explicit Hits(const GoldenFile& file) {
        const GoldenTensor coords = file.tensor("check/input/coords");
        const GoldenTensor given = file.tensor("check/input/x");
        n = coords.shape[0];
        n_axis = coords.shape[1];
        n_feature = given.shape[1];
        x = coords.values;
        features = given.values;
        clouds = file.integers("check/input/batch");
        for (int64_t i = 0; i < n; ++i) ids.push_back(i);
    }
    Hits() = default;

    /// The points of these rows.
    Hits rows(const std::vector<int64_t>& rows) const {
        Hits some;
        some.n = static_cast<int64_t>(rows.size());
        some.n_axis = n_axis;
        some.n_feature = n_feature;
        const auto take = [](const auto& from, int64_t row, int64_t width, auto& to) {
            if (!from.empty())
                to.insert(to.end(), from.begin() + row * width, from.begin() + (row + 1) * width);
        };
        for (const int64_t row : rows) {
            take(x, row, n_axis, some.x);
            take(features, row, n_feature, some.features);
            take(ids, row, 1, some.ids);
            take(clouds, row, 1, some.clouds);
        }
        return some;
    }
};

inline std::vector<double> run(Plan& plan, const Hits& hits, int64_t n_out) {
    std::vector<double> y(static_cast<size_t>(hits.n * n_out), NAN);
    plan.run_network({{"x", matrix(hits.features.data(), hits.n, hits.n_feature)}},
                     {{"y", matrix(y.data(), hits.n, n_out)}});
    return y;
}

inline int64_t n_out_of(const Model& model) {
    for (const surrogate_port_info& port : model.ports())
        if (port.is_output) return port.n_channel;
    return 0;
}

/// Returns the results of a plan for all points of this rank. Collective.
inline std::vector<double> run(const Context& context, const Model& model, const Hits& own,
                               const Options& options) {
    const Domain domain(context, own.points());
    Plan plan(model, domain, options);
    return run(plan, own, n_out_of(model));
}

}  // namespace surrogate::test
