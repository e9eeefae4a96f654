// SPDX-License-Identifier: Apache-2.0
// Derivatives of predictions in physical units: differences, linearity, ranks, invalid input.
#include <gtest/gtest.h>

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
#include "tests/support/memory_meter.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/sequoia_case.hpp"
#include "tests/support/small_darcy_model.hpp"
#include "tests/support/sphere_case.hpp"
#include "tests/support/sphere_models.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

using nlohmann::json;

json coordinate(const char* name, int axis) {
    return {{"name", name}, {"role", "coordinate"}, {"axis", axis}, {"unit", "m"}, {"mean", 0},
            {"std", 0.5}};
}

/// A card of two coordinates x and y, fields and numbers per cloud, and the output load.
json card(const char* family, const json& network, const std::vector<std::string>& fields = {},
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
Problem on_points(const char* name, const char* family, const json& network,
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

json flat_bsa(json changes, const json& attention = json::object()) {
    changes["dimensionality"] = 2;
    if (!changes.contains("depth")) changes["depth"] = 2;
    return small_bsa(changes, attention);
}

Problem with(Problem problem, const std::function<void(Problem&)>& change) {
    change(problem);
    return problem;
}

const std::vector<Problem>& problems() {
    const auto has_clouds = [](Problem& problem) { problem.has_clouds = true; };
    const json given = {{"pos_enc", "none"}, {"c_in", 2}};
    const auto sequoia = [](json changes) {
        changes["dimensionality"] = 2;
        return small_sequoia(changes);
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
        with(on_points("Erwin", "erwin",
                       {{"pos_enc", "none"},
                        {"dimensionality", 2},
                        {"c_in", 1},
                        {"c_out", 1},
                        {"c_hidden", {8, 8}},
                        {"ball_sizes", {16, 16}},
                        {"enc_num_heads", {2, 2}},
                        {"enc_depths", {1, 1}},
                        {"strides", {2}},
                        {"dec_num_heads", {2}},
                        {"dec_depths", {1}},
                        {"rotate", 45},
                        {"mlp_ratio", 2},
                        {"mp_steps", 1},
                        {"neighbors", 5}},
                       {"size"}),
             [](Problem& problem) { problem.coordinates = {}; }),
    };
    return list;
}

using Fields = std::map<std::string, std::vector<double>>;

double wave_at(const std::string& name, int64_t i, double phase) {
    const double seed = static_cast<double>(name.front() + 3 * name.back());
    return std::sin(1.7 * static_cast<double>(i) + seed + phase);
}

/// The direction of differences. Families with trees round positions to single precision; their
/// moves are exact.
double direction(const std::string& name, int64_t i) {
    return std::round(64 * wave_at(name, i, 0.2)) / 64;
}
constexpr double tolerance = 1e-6;

double rounded(double x) {
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

    std::vector<int64_t> rows;  ///< of this rank's points
    Fields inputs, outputs, w, g;

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

const Options in_double{
    {"gradients", "inputs"}, {"precision", "fp64"}, {"backend", "ref"}, {"reproducible", "true"}};
const Options in_single{{"gradients", "inputs"}, {"backend", "simd"}, {"reproducible", "true"}};

class Derivatives : public testing::TestWithParam<size_t> {
protected:
    const Problem& problem = problems()[GetParam()];
    const Context self, context = mpi_context(world);
};

/// Small moves of points leave the orders of the run as they are.
TEST_P(Derivatives, AreTheSlopesOfCentralDifferences) {
    Derived own(context, problem, in_double);
    own.differentiate();
    for (const std::string& name : own.names()) {
        const double expected = own.slope(name);
        own.move(name, problem.step);
        const double above = own.value();
        own.move(name, -2 * problem.step);
        const double below = own.value();
        own.move(name, problem.step);
        const double found = (above - below) / (2 * problem.step);
        if (problem.only_trees_read(name)) {
            EXPECT_EQ(expected, 0) << name;
            EXPECT_EQ(found, 0) << name;
            continue;
        }
        EXPECT_GT(std::abs(found), 1e-6) << name;
        EXPECT_LE(std::abs(found - expected), tolerance * std::abs(expected))
            << name << ": " << found << " " << expected;
    }
}

TEST_P(Derivatives, AreLinearInW) {
    Derived own(context, problem, in_single);
    own.differentiate();
    const Fields w = own.w, first = own.g;
    for (auto& [name, values] : own.w) {
        for (size_t i = 0; i < values.size(); ++i) values[i] = std::cos(3 * values[i]);
    }
    own.differentiate();
    const Fields second = own.g;
    for (auto& [name, values] : own.w) {
        for (size_t i = 0; i < values.size(); ++i) values[i] += 2 * w.at(name)[i];
    }
    own.differentiate();
    for (const std::string& name : own.names()) {
        double error = 0, size = 0;
        for (size_t i = 0; i < own.g[name].size(); ++i) {
            const double expected = 2 * first.at(name)[i] + second.at(name)[i];
            error += std::pow(own.g[name][i] - expected, 2);
            size += std::pow(expected, 2);
        }
        EXPECT_LE(std::sqrt(error), 1e-5 * std::sqrt(size)) << name;
    }
}

TEST_P(Derivatives, AreThoseOfDoubleInSingle) {
    Derived single(context, problem, in_single), exact(context, problem, in_double);
    single.differentiate();
    exact.differentiate();
    for (const std::string& name : exact.names()) {
        double error = 0, size = 0;
        for (size_t i = 0; i < exact.g[name].size(); ++i) {
            error += std::pow(single.g[name][i] - exact.g[name][i], 2);
            size += std::pow(exact.g[name][i], 2);
        }
        EXPECT_LE(std::sqrt(error), 1e-4 * std::sqrt(size)) << name;
    }
}

TEST_P(Derivatives, HaveTheBitsOfOneRank) {
    for (const Options* const options : {&in_single, &in_double}) {
        Derived one(self, problem, *options), own(context, problem, *options);
        one.differentiate();
        own.differentiate();
        std::map<int64_t, size_t> place;
        for (size_t i = 0; i < one.rows.size(); ++i) place[one.rows[i]] = i;
        for (const std::string& name : own.names()) {
            if (std::ranges::count(problem.numbers, name) > 0) {
                EXPECT_EQ(own.g[name], one.g[name]) << name;
                continue;
            }
            for (size_t i = 0; i < own.rows.size(); ++i)
                ASSERT_EQ(own.g[name][i], one.g[name][place[own.rows[i]]]) << name << " " << i;
        }
    }
}

TEST_P(Derivatives, ComeWithThePredictionsOfAPlanWithout) {
    Derived own(context, problem, in_single);
    own.differentiate();
    const Fields with = own.outputs;
    Plan plan = own.plan_without();
    plan.run();
    EXPECT_EQ(own.outputs, with);
}

TEST_P(Derivatives, TakeNoMemory) {
    Derived own(context, problem, in_single);
    own.differentiate();
    const MemoryMeter meter;
    own.differentiate();
    EXPECT_EQ(meter.n_allocation(), 0);
}

INSTANTIATE_TEST_SUITE_P(, Derivatives, testing::Range(size_t{0}, problems().size()),
                         [](const auto& index) { return problems()[index.param].name; });

/// Models of points from PyTorch, with the gradient of 0.5 sum(y^2) by positions or features.
class StoredDerivatives : public testing::TestWithParam<std::string> {
protected:
    /// A card that names all channels: x0, x1, .. , f0, f1, .. and y0, y1, ..
    static json named(json card, int64_t n_axis, int64_t n_feature, int64_t n_out) {
        const auto port = [](const char* name, int64_t i) {
            return json{{"name", name + std::to_string(i)}, {"unit", "1"}, {"mean", 0}, {"std", 1}};
        };
        for (int64_t i = 0; i < n_axis; ++i) {
            card["inputs"].push_back(port("x", i));
            card["inputs"].back()["role"] = "coordinate";
            card["inputs"].back()["axis"] = i;
        }
        for (int64_t i = 0; i < n_feature; ++i) card["inputs"].push_back(port("f", i));
        for (int64_t i = 0; i < n_out; ++i) card["outputs"].push_back(port("y", i));
        return card;
    }
};

TEST_P(StoredDerivatives, AreThoseOfAPlan) {
    const std::string path = stored_case(GetParam());
    const GoldenFile file(path);
    const SequoiaCase all(file);
    const Context context = mpi_context(world);
    const std::vector<int64_t> rows = own_rows("scattered", all.n, world);
    SequoiaCase own = all.rows(rows);
    const GoldenTensor prediction = file.tensor("check/output64/y");
    const int64_t n_out = prediction.shape[1];
    const bool by_features = file.has("check/grad_input/features");
    const std::vector<double> stored = table_rows(
        file.tensor(by_features ? "check/grad_input/features" : "check/grad_input/positions")
            .values,
        rows, all.n);
    const int64_t n_feature = by_features ? file.tensor("check/input/features").shape[1] : 0;
    ModelWriter writer = writer_of(file);
    writer.card = named(writer.card, all.n_axis, n_feature, n_out);
    const ModelOnDisk disk(writer.bytes());
    const Model model(context, disk.path());
    const Domain domain(context, {matrix(own.positions.data(), own.n, own.n_axis), own.ids.data(),
                                  nullptr, nullptr});
    Plan plan(model, domain, in_double);
    std::vector<double> y(static_cast<size_t>(own.n * n_out)), g(stored.size());
    const auto channel = [&](std::vector<double>& values, int64_t c, int64_t width) {
        surrogate_array array = column(values.data() + c, own.n);
        array.stride[0] = width;
        return array;
    };
    for (int64_t c = 0; c < n_feature; ++c) {
        const std::string name = "f" + std::to_string(c);
        plan.bind_input(name, channel(own.features, c, n_feature));
        plan.bind_input_gradient(name, channel(g, c, n_feature));
    }
    for (int64_t c = 0; c < all.n_axis && !by_features; ++c)
        plan.bind_input_gradient("x" + std::to_string(c), channel(g, c, all.n_axis));
    for (int64_t c = 0; c < n_out; ++c) {
        plan.bind_output("y" + std::to_string(c), channel(y, c, n_out));
        plan.bind_output_gradient("y" + std::to_string(c), channel(y, c, n_out));
    }
    plan.run();
    plan.run_backward();
    double largest = 0;
    for (const double value : stored) largest = std::max(largest, std::abs(value));
    for (size_t i = 0; i < g.size(); ++i) ASSERT_NEAR(g[i], stored[i], 1e-7 * largest) << i;
}

INSTANTIATE_TEST_SUITE_P(Files, StoredDerivatives,
                         testing::Values("bsa/bsa_features_rotated_ball",
                                         "sequoia/points_features_grad",
                                         "sequoia/points_small_grad"),
                         [](const auto& file) {
                             return file.param.substr(file.param.find('/') + 1);
                         });

// ---- invalid input ----

class DerivativeErrors : public testing::Test {
protected:
    Answer answer_of(const std::function<void()>& work) const {
        try {
            work();
        } catch (const Error& error) {
            return {error.status(), error.what()};
        }
        return {};
    }
    void expect(const std::function<void()>& work, surrogate_status status,
                const std::string& text) const {
        const Answer found = answer_of(work);
        EXPECT_EQ(found.status, status) << found;
        EXPECT_TRUE(found.says(text)) << found;
    }

    const Context context = mpi_context(world);
    Derived own{context, problems()[0], in_single};
    std::vector<double> some = std::vector<double>(own.rows.size());
    const surrogate_array all = column(some.data(), std::ssize(some));
};

TEST_F(DerivativeErrors, NeedTheOption) {
    const Model model(context, small_darcy_model());
    Plan plan(model, own.plan().input_domain(), Options{{"gradients", "true"}});
    const std::string text = "option 'gradients' is true, expected inputs";
    expect([&] { plan.bind_output_gradient("pressure", all); }, SURROGATE_INVALID_ARGUMENT, text);
    expect([&] { plan.bind_input_gradient("mobility", all); }, SURROGATE_INVALID_ARGUMENT, text);
    expect([&] { plan.run_backward(); }, SURROGATE_INVALID_ARGUMENT, text);
}

TEST_F(DerivativeErrors, NeedARunForEachBackwardRun) {
    const std::string text = "runs since the last backward run is 0";
    expect([&] { own.plan().run_backward(); }, SURROGATE_INVALID_ARGUMENT, text);
    own.differentiate();
    expect([&] { own.plan().run_backward(); }, SURROGATE_INVALID_ARGUMENT, text);
    own.plan().run();
    own.move("x", 1e-3);
    expect([&] { own.plan().run_backward(); }, SURROGATE_INVALID_ARGUMENT, "have moved");
    own.differentiate();
}

TEST_F(DerivativeErrors, NameWhatDoesNotFit) {
    Plan& plan = own.plan();
    expect([&] { plan.bind_output_gradient("presure", all); }, SURROGATE_UNKNOWN_NAME, "pressure");
    expect([&] { plan.bind_input_gradient("mobilty", all); }, SURROGATE_UNKNOWN_NAME,
           "x, mobility");
    expect([&] { plan.bind_output_gradient("pressure", all, "bar"); }, SURROGATE_INVALID_ARGUMENT,
           "'Pa'");
    expect([&] { plan.bind_input_gradient("mobility", all, "m"); }, SURROGATE_INVALID_ARGUMENT,
           "'m^2/(Pa s)'");
    std::vector<double> more(own.rows.size() + 1);
    const surrogate_array longer = column(more.data(), std::ssize(more));
    expect([&] { plan.bind_output_gradient("pressure", longer); }, SURROGATE_SHAPE, "shape");
    expect([&] { plan.bind_input_gradient("x", longer); }, SURROGATE_SHAPE, "shape");
}

/// A rank with an infinite w says where; the others learn of it, and the next run is right.
TEST_F(DerivativeErrors, OfOneRankReachAll) {
    own.differentiate();
    const Fields expected = own.g;
    const int last = size_of(world) - 1;
    if (rank_of(world) == last) own.w["pressure"][1] = std::numeric_limits<double>::infinity();
    own.plan().run();
    expect([&] { own.plan().run_backward(); }, SURROGATE_NOT_FINITE,
           rank_of(world) == last ? "gradient of output 'pressure' is not finite at"
                                  : "from another rank");
    for (const auto& [name, values] : own.g) {
        for (const double value : values) EXPECT_TRUE(std::isnan(value)) << name;
    }
    if (rank_of(world) == last) own.w["pressure"][1] = wave_at("pressure", own.rows[1], 0.8);
    own.differentiate();
    EXPECT_EQ(own.g, expected);
}

TEST_F(DerivativeErrors, OfARunAreThoseOfItsDerivatives) {
    const int last = size_of(world) - 1;
    if (rank_of(world) == last) own.inputs["mobility"][0] = NAN;
    expect([&] { own.plan().run(); }, SURROGATE_NOT_FINITE, "");
    expect([&] { own.plan().run_backward(); }, SURROGATE_NOT_FINITE, "derivatives are NaN");
}

TEST_F(DerivativeErrors, OfClassesAreNotSupported) {
    const auto of = std::ranges::find(problems(), "HeptPileup", &Problem::name);
    Derived pileup(context, *of, in_single);
    expect([&] { pileup.plan().bind_input_gradient("kind", all); }, SURROGATE_NOT_SUPPORTED,
           "input 'kind' is a class");
}

TEST_F(DerivativeErrors, OfDevicesAreNotSupported) {
    const Model model(context, small_darcy_model());
    expect(
        [&] {
            const Plan plan(model, own.plan().input_domain(),
                            Options{{"gradients", "inputs"}, {"backend", "cuda"}});
        },
        SURROGATE_NOT_SUPPORTED, "option 'gradients' is inputs with backend cuda");
}

TEST_F(DerivativeErrors, OfSphereCoordinatesAreUnknownNames) {
    Derived sphere(context, problems()[1], in_single);
    expect([&] { sphere.plan().bind_input_gradient("latitude", all); }, SURROGATE_UNKNOWN_NAME,
           "u0, u1, u2");
}

/// Outputs without w do not count, and inputs without g are left alone.
TEST_F(DerivativeErrors, AreNotMadeByGradientsLeftOut) {
    Derived all_of(context, problems()[1], in_double), some_of(context, problems()[1], in_double);
    std::ranges::fill(all_of.w["v1"], 0);
    all_of.differentiate();
    check(surrogate_plan_unbind(some_of.plan().get()));
    some_of.w.erase("v1");
    some_of.g.erase("u1");
    some_of.bind();
    some_of.differentiate();
    for (const std::string& name : some_of.names()) EXPECT_EQ(some_of.g[name], all_of.g[name]);
}

}  // namespace
}  // namespace surrogate::test
