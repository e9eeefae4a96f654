// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <surrogate/surrogate_mpi.hpp>
#include <vector>

#include "tests/support/bsa_models.hpp"
#include "tests/support/data_path.hpp"
#include "tests/support/family_ranks.hpp"
#include "tests/support/golden_writer.hpp"
#include "tests/support/hept_models.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/sequoia_case.hpp"
#include "tests/support/small_darcy_model.hpp"
#include "tests/support/sphere_case.hpp"
#include "tests/support/sphere_models.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {

using nlohmann::json;

inline json coordinate(const char* name, int axis) {
    return {{"name", name}, {"role", "coordinate"}, {"axis", axis}, {"unit", "m"}, {"mean", 0},
            {"std", 0.5}};
}

/// A card of two coordinates x and y, fields and numbers per cloud, and the output load.
inline json card(const char* family, const json& network,
                 const std::vector<std::string>& fields = {},
                 const std::vector<std::string>& numbers = {}) {
    json inputs = {coordinate("x", 0), coordinate("y", 1)};
    for (const std::string& name : fields) {
        const bool is_class = name == "kind";
        inputs.push_back({{"name", name},
                          {"unit", "1"},
                          {"mean", is_class ? 0 : 0.1},
                          {"std", is_class ? 1 : 2}});
    }
    for (const std::string& name : numbers) {
        inputs.push_back(
            {{"name", name}, {"role", "cloud"}, {"unit", "m/s"}, {"mean", 2}, {"std", 0.7}});
    }
    return {{"format", 1},
            {"family", family},
            {"network", network},
            {"inputs", inputs},
            {"outputs", {{{"name", "load"}, {"unit", "N"}, {"mean", 0}, {"std", 3}}}}};
}

/// Which model; the names of its inputs and outputs, coordinates by axis.
struct Problem {
    std::string name;
    std::function<std::string()> bytes;  ///< of the model, or
    std::function<std::string()> path;
    std::vector<std::string> fields = {}, coordinates = {}, numbers = {}, outputs = {"load"};
    bool is_sphere = false, has_clouds = false;
    bool is_pooled = false;       ///< outputs are per cloud
    std::string classes = {};     ///< an input without derivative
    double step = 0x1p-16;        ///< of differences, without another order or choice
    bool has_only_trees = false;  ///< of coordinates

    bool only_trees_read(const std::string& input) const {
        return has_only_trees && std::ranges::count(coordinates, input) > 0;
    }
};

/// With coordinates x and y.
inline Problem on_points(const char* name, const char* family, const json& network,
                         const std::vector<std::string>& fields = {},
                         const std::vector<std::string>& numbers = {}) {
    Problem problem;
    problem.name = name;
    problem.bytes = [of = card(family, network, fields, numbers)] {
        return of["family"] == "hept"      ? hept_model(of).bytes()
               : of["family"] == "sequoia" ? sphere_model(of).bytes()
                                           : bsa_model(of).bytes();
    };
    problem.fields = fields;
    problem.numbers = numbers;
    problem.coordinates = {"x", "y"};
    problem.has_clouds = !numbers.empty();
    return problem;
}

inline json flat_bsa(json changes, const json& attention = json::object()) {
    changes["dimensionality"] = 2;
    if (!changes.contains("depth")) changes["depth"] = 2;
    return small_bsa(changes, attention);
}

inline Problem with(Problem problem, const std::function<void(Problem&)>& change) {
    change(problem);
    return problem;
}

inline const std::vector<Problem>& problems() {
    const auto has_clouds = [](Problem& problem) { problem.has_clouds = true; };
    const json given = {{"pos_enc", "none"}, {"c_in", 2}};
    const auto sequoia = [](json changes) {
        changes["dimensionality"] = 2;
        return small_sequoia(changes);
    };
    const auto erwin = [](const json& changes) {
        json network = {{"dimensionality", 2},     {"c_out", 1},
                        {"c_hidden", {8, 8}},      {"ball_sizes", {16, 16}},
                        {"enc_num_heads", {2, 2}}, {"enc_depths", {1, 1}},
                        {"strides", {2}},          {"dec_num_heads", {2}},
                        {"dec_depths", {1}},       {"rotate", 45},
                        {"mlp_ratio", 2},          {"mp_steps", 1},
                        {"neighbors", 5}};
        network.update(changes);
        return network;
    };
    static const std::vector<Problem> list = {
        {"Flare", nullptr, small_darcy_model, {"mobility"}, {"x"}, {}, {"pressure"}},
        {"SphereTransformer",
         [] { return sphere_model(sphere_card(small_transformer(), 3, 3)).bytes(); },
         nullptr,
         {"u0", "u1", "u2"},
         {},
         {},
         {"v0", "v1", "v2"},
         true},
        {"SphereSegformer",
         [] { return sphere_model(sphere_card(small_segformer(), 3, 2)).bytes(); },
         nullptr,
         {"u0", "u1", "u2"},
         {},
         {},
         {"v0", "v1"},
         true},
        on_points("Sequoia", "sequoia", sequoia({})),
        on_points("SequoiaLinear", "sequoia", sequoia({{"pos_enc", "linear"}})),
        with(on_points("SequoiaClouds", "sequoia", sequoia({})), has_clouds),
        with(on_points("SequoiaGiven", "sequoia", sequoia(given), {"size"}, {"speed"}),
             [](Problem& problem) { problem.has_only_trees = true; }),
        with(on_points("SequoiaPooled", "sequoia", sequoia({{"pooling_mode", "MEAN"}})),
             [](Problem& problem) { problem.has_clouds = problem.is_pooled = true; }),
        on_points("Hept", "hept", small_hept(), {"size"}, {"speed"}),
        with(
            on_points("HeptPileup", "hept",
                      small_hept({{"task", "pileup"}, {"num_classes", nullptr}}), {"size", "kind"}),
            [](Problem& problem) {
                problem.classes = "kind";
                problem.step = 0x1p-20;
                problem.fields = {"size"};
            }),
        on_points("Bsa", "bsa", flat_bsa({{"depth", 4}})),
        on_points("BsaLinearRotatedBalls", "bsa",
                  flat_bsa({{"pos_enc", "linear"}, {"rotated_order", "ball"}})),
        on_points("BsaBalls", "bsa", flat_bsa({{"attention_type", "ball"}})),
        on_points("BsaFull", "bsa", flat_bsa({{"attention_type", "global"}})),
        on_points("BsaGroups", "bsa", flat_bsa({}, {{"use_coarse_q_attn", true}})),
        on_points("BsaMeans", "bsa",
                  flat_bsa({{"sigma_trainable", true}},
                           {{"use_compress_mlp", false}, {"use_token_gated_attention", false}})),
        on_points("BsaGiven", "bsa", flat_bsa(given), {"size"}, {"speed"}),
        on_points("Erwin", "erwin", erwin({{"pos_enc", "none"}, {"c_in", 1}}), {"size"}),
        on_points("ErwinFourier", "erwin",
                  erwin({{"pos_enc", "fourier"}, {"c_in", 8}, {"enc_depths", {2, 1}}})),
        with(on_points("ErwinLinearClouds", "erwin",
                       erwin({{"pos_enc", "linear"},
                              {"c_in", 4},
                              {"strides", {1}},
                              {"rotate", 0},
                              {"mp_steps", 2}})),
             has_clouds),
    };
    return list;
}

using Fields = std::map<std::string, std::vector<double>>;

inline double wave_at(const std::string& name, int64_t i, double phase) {
    const double seed = static_cast<double>(name.front() + 3 * name.back());
    return std::sin(1.7 * static_cast<double>(i) + seed + phase);
}

/// The direction of differences. Families with trees round positions to single precision; their
/// moves are exact.
inline double direction(const std::string& name, int64_t i) {
    return std::round(64 * wave_at(name, i, 0.2)) / 64;
}
constexpr double tolerance = 1e-6;

inline double rounded(double x) {
    return std::round(x * 0x1p20) / 0x1p20;
}

/// A plan on the points of one rank, with gradients. Arrays are by name.
class Derived {
public:
    static constexpr int64_t n_cloud = 3;

    Derived(const Context& context, const Problem& problem, const Options& options)
        : problem_(problem),
          context_(context),
          file_(problem.bytes ? std::make_optional<ModelOnDisk>(problem.bytes()) : std::nullopt),
          model_(context, problem.path ? problem.path() : file_->path()) {
        if (problem.is_sphere)
            set_sphere();
        else
            set_points();
        plan_.emplace(model_, *domain_, options);
        for (const std::string& name : problem_.fields) fill(name, rows, 6, 1.2);
        for (const std::string& name : problem_.coordinates) g[name].resize(rows.size());
        for (const std::string& name : problem_.numbers) fill(name, clouds(), 2, 0.3);
        for (const std::string& name : problem_.outputs) {
            const std::vector<int64_t> at = problem_.is_pooled ? clouds() : rows;
            outputs[name].resize(at.size());
            for (const int64_t row : at) w[name].push_back(wave_at(name, row, 0.8));
        }
        for (const int64_t row : rows)
            if (!problem_.classes.empty())
                inputs[problem_.classes].push_back(static_cast<double>(row % 3));
        bind();
    }

    void bind() {
        for (auto& [name, values] : inputs) plan_->bind_input(name, array(values));
        for (auto& [name, values] : outputs) plan_->bind_output(name, array(values));
        for (auto& [name, values] : w) plan_->bind_output_gradient(name, array(values));
        for (auto& [name, values] : g) plan_->bind_input_gradient(name, array(values));
    }

    /// A plan without gradients, on the same arrays, which are -1.
    Plan plan_without() {
        Plan plan(model_, *domain_, Options{{"backend", "simd"}, {"reproducible", "true"}});
        for (auto& [name, values] : outputs) std::ranges::fill(values, -1);
        for (auto& [name, values] : inputs) plan.bind_input(name, array(values));
        for (auto& [name, values] : outputs) plan.bind_output(name, array(values));
        return plan;
    }

    void differentiate() {
        plan_->run();
        plan_->run_backward();
    }

    /// sum w y over all ranks, of the outputs with a w.
    double value() {
        plan_->run();
        double sum = 0;
        for (const auto& [name, values] : w) {
            for (size_t i = 0; i < values.size(); ++i) sum += values[i] * outputs[name][i];
        }
        return problem_.is_pooled ? sum : context_.reduce(SURROGATE_SUM, sum);
    }

    /// Moves an input by h along a direction.
    void move(const std::string& name, double h) {
        if (inputs.contains(name)) {
            const bool is_number = std::ranges::count(problem_.numbers, name) > 0;
            const std::vector<int64_t> at = is_number ? clouds() : rows;
            for (size_t i = 0; i < at.size(); ++i) inputs[name][i] += h * direction(name, at[i]);
            return;
        }
        const auto axis = static_cast<size_t>(name == "y" ? 1 : 0);
        for (size_t i = 0; i < rows.size(); ++i) x_[2 * i + axis] += h * direction(name, rows[i]);
        domain_->update_points(points());
    }
    /// sum g times that direction.
    double slope(const std::string& name) {
        const bool is_number = std::ranges::count(problem_.numbers, name) > 0;
        const std::vector<int64_t> at = is_number ? clouds() : rows;
        double sum = 0;
        for (size_t i = 0; i < at.size(); ++i) sum += g[name][i] * direction(name, at[i]);
        return is_number ? sum : context_.reduce(SURROGATE_SUM, sum);
    }

    std::vector<std::string> names() const {
        std::vector<std::string> all;
        for (const auto& [name, values] : g) all.push_back(name);
        return all;
    }
    Plan& plan() { return *plan_; }

    /// Binds directions v of all fields and numbers, and jv of all outputs.
    void bind_tangents() {
        for (const auto& [name, values] : inputs) {
            if (name == problem_.classes) continue;
            const bool is_number = std::ranges::count(problem_.numbers, name) > 0;
            for (const int64_t i : is_number ? clouds() : rows)
                v[name].push_back(direction(name, i));
            plan_->bind_input_tangent(name, array(v[name]));
        }
        for (const auto& [name, values] : outputs) {
            jv[name].resize(values.size());
            plan_->bind_output_tangent(name, array(jv[name]));
        }
    }
    /// sum w J v over all ranks.
    double along() {
        plan_->run_tangent();
        double sum = 0;
        for (const auto& [name, values] : w)
            for (size_t i = 0; i < values.size(); ++i) sum += values[i] * jv[name][i];
        return problem_.is_pooled ? sum : context_.reduce(SURROGATE_SUM, sum);
    }
    /// sum v J^T w over all ranks, after differentiate().
    double against() {
        double sum = 0;
        for (const auto& [name, values] : v) sum += slope(name);
        return sum;
    }

    std::vector<int64_t> rows;  ///< of this rank's points
    Fields inputs, outputs, w, g, v, jv;

private:
    static surrogate_array array(std::vector<double>& values) {
        return column(values.data(), std::ssize(values));
    }
    static std::vector<int64_t> clouds() {
        std::vector<int64_t> all;
        for (int64_t cloud = 0; cloud < n_cloud; ++cloud) all.push_back(cloud);
        return all;
    }
    void fill(const std::string& name, const std::vector<int64_t>& at, double mean, double size) {
        for (const int64_t i : at) inputs[name].push_back(mean + size * wave_at(name, i, 0));
        g[name].resize(at.size());
    }
    surrogate_points points() const {
        return {matrix(x_.data(), std::ssize(rows), 2), rows.data(),
                problem_.has_clouds ? clouds_.data() : nullptr, nullptr};
    }
    void set_points() {
        int64_t n = 0;
        check(surrogate_partition("scattered", 90, context_.rank(), context_.size(), nullptr, &n));
        rows.resize(static_cast<size_t>(n));
        check(surrogate_partition("scattered", 90, context_.rank(), context_.size(), rows.data(),
                                  &n));
        for (const int64_t row : rows) {
            x_.push_back(rounded(0.5 + 0.45 * std::sin(1.3 * static_cast<double>(row) + 0.1)));
            x_.push_back(rounded(std::sin(2.1 * static_cast<double>(row) + 0.4)));
            clouds_.push_back(row * 7 % n_cloud);
        }
        domain_.emplace(context_, points());
    }
    void set_sphere() {
        const SphereBlock block(model_.input_domain(), {.name = "", .partition = "scattered"},
                                context_.rank(), context_.size());
        for (int64_t i = 0; i < block.n_lat(); ++i) {
            for (int64_t j = 0; j < block.n_lon(); ++j) rows.push_back(block.model_index(i, j));
        }
        domain_.emplace(context_, block.sphere());
    }

    const Problem& problem_;
    const Context& context_;
    std::optional<ModelOnDisk> file_;
    Model model_;
    std::vector<double> x_;
    std::vector<int64_t> clouds_;
    std::optional<Domain> domain_;
    std::optional<Plan> plan_;
};

inline const Options in_double{
    {"gradients", "inputs"}, {"precision", "fp64"}, {"backend", "ref"}, {"reproducible", "true"}};
inline const Options in_single{
    {"gradients", "inputs"}, {"backend", "simd"}, {"reproducible", "true"}};

}  // namespace surrogate::test
