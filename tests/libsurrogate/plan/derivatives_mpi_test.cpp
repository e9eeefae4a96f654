// SPDX-License-Identifier: Apache-2.0
// Derivatives of predictions in physical units: differences, linearity, ranks, invalid input.
#include <gtest/gtest.h>

#include "tests/libsurrogate/plan/derived.hpp"
#include "tests/support/memory_meter.hpp"

namespace surrogate::test {
namespace {

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
