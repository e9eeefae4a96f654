// SPDX-License-Identifier: Apache-2.0
// Fields on the sphere: outside of their range, and in arrays of wrong shape.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/answer.hpp"
#include "tests/support/sphere_case.hpp"
#include "tests/support/sphere_models.hpp"

namespace surrogate::test {
namespace {

using nlohmann::json;

// 40 channels: columns pass in groups of 32. Every field of the card has a range of its own.
TEST(SphereRange, CountsAreThoseOfEachField) {
    json card = sphere_card(changed(small_attention(), {{"in_channels", 40}}), 40, 40);
    for (json& field : card["inputs"]) {
        field["min"] = -1;
        field["max"] = 2;
    }
    const ModelOnDisk file(sphere_model(card).bytes());
    const Context context;
    const Model model(context, file.path());
    for (const char* threads : {"1", "3"}) {
        SphereRun run(context, model, {.name = "", .south_first = true, .shift = 5, .ghosts = 1},
                      {{"threads", threads}});
        const int64_t n = run.in_block.n_model_point();
        std::vector<float> x(static_cast<size_t>(40 * n), 0.5f);
        for (int64_t i = 0; i < 7; ++i) x[static_cast<size_t>(35 * n + 31 * i)] = -3;
        x[static_cast<size_t>(35 * n + 11)] = 6;
        x[static_cast<size_t>(39 * n + n - 1)] = 2.5f;
        run.fill({x});
        run.bind();
        EXPECT_EQ(run.run(), SURROGATE_SUCCESS);
        for (int32_t field = 0; field < 40; ++field) {
            const surrogate_range_info found = run.plan.range(field);
            EXPECT_EQ(found.n_outside, field == 35 ? 8 : field == 39 ? 1 : 0) << field;
            EXPECT_EQ(found.worst, field == 35 ? 6 : field == 39 ? 2.5 : 0) << field;
            EXPECT_EQ(found.n_points, n);
        }
        EXPECT_EQ(run.plan.counter("outside_range"), 9);
    }
}

// Column s of the solver is column s + 5 of the model: a row lies in two parts, and the second has
// the first columns of the model.
TEST(SphereBadValue, IsOfTheLowestFieldThenOfTheFirstPointOfItsRow) {
    const json card = sphere_card(changed(small_attention(), {{"in_channels", 8}}), 8, 8);
    const ModelOnDisk file(sphere_model(card).bytes());
    const Context context;
    const Model model(context, file.path());
    SphereRun run(context, model, {.name = "", .shift = 5});
    const int64_t n = run.in_block.n_model_point(), n_lon = model.input_domain().n_lon;
    std::vector<float> x(static_cast<size_t>(8 * n), 0.5f);
    const auto set_bad = [&](int64_t field, int64_t row, int64_t model_column) {
        x[static_cast<size_t>(field * n + row * n_lon + model_column)] =
            std::numeric_limits<float>::quiet_NaN();
        run.fill({x});
        run.bind();
        return answer(run.run());
    };
    const std::string name = card["inputs"][3]["name"];
    const auto expect = [&](const Answer& found, const std::string& place) {
        EXPECT_EQ(found.status, SURROGATE_NOT_FINITE);
        EXPECT_TRUE(found.says(name) && found.says(place)) << found;
    };
    set_bad(5, 4, 7);
    expect(set_bad(3, 4, 1), "row 4, column " + std::to_string(n_lon - 4));
    expect(set_bad(3, 4, 7), "row 4, column 2 ");
    expect(set_bad(7, 5, 0), "row 4, column 2 ");  // of a later row
}

class SphereArrays : public testing::Test {
protected:
    Answer run_with(const std::vector<surrogate_named_array>& in,
                    const std::vector<surrogate_named_array>& out) {
        return answer(surrogate_plan_run_network(run.plan.get(), static_cast<int32_t>(in.size()),
                                                 in.data(), static_cast<int32_t>(out.size()),
                                                 out.data()));
    }
    const ModelOnDisk file{changed(small_attention(), {{"out_shape", {6, 12}}})};
    Context context;
    Model model{context, file.path()};
    SphereRun run{context, model, {.name = ""}};
};

TEST_F(SphereArrays, OfALayerBetweenTwoGridsStandOnTheirDomains) {
    const std::vector<surrogate_port_info> ports = model.ports();
    ASSERT_EQ(ports.size(), 4u);
    const std::vector<std::pair<std::string, int>> expected = {{"query", SURROGATE_ON_OUTPUT},
                                                               {"key", SURROGATE_ON_INPUT},
                                                               {"value", SURROGATE_ON_INPUT},
                                                               {"y", SURROGATE_ON_OUTPUT}};
    for (size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(ports[i].name, expected[i].first);
        EXPECT_EQ(ports[i].location, expected[i].second);
        EXPECT_EQ(ports[i].kind, SURROGATE_REAL);
        EXPECT_EQ(ports[i].is_output, i == 3);
        EXPECT_EQ(ports[i].n_channel, 4);
    }
    EXPECT_EQ(model.input_domain().kind, SURROGATE_SPHERE);
    EXPECT_EQ(model.output_domain().n_lat, 6);
    EXPECT_EQ(model.input_domain().n_lon, 24);
}

TEST_F(SphereArrays, OfWrongShapeAreRefused) {
    run.fill(wave_inputs(model));
    auto in = run.arrays(false), out = run.arrays(true);
    EXPECT_EQ(run_with(in, out).status, SURROGATE_SUCCESS);

    auto bad = in;
    bad[0].array.shape[0] = 12 * 24;  // the query lives on the coarse grid
    const Answer wrong_points = run_with(bad, out);
    EXPECT_EQ(wrong_points.status, SURROGATE_SHAPE);
    EXPECT_TRUE(wrong_points.says("query") && wrong_points.says("72") && wrong_points.says("288"))
        << wrong_points;

    bad = in;
    bad[1].array.shape[1] = 3;
    const Answer wrong_channels = run_with(bad, out);
    EXPECT_EQ(wrong_channels.status, SURROGATE_SHAPE);
    EXPECT_TRUE(wrong_channels.says("key")) << wrong_channels;

    bad = {in[0], in[1]};
    const Answer missing = run_with(bad, out);
    EXPECT_EQ(missing.status, SURROGATE_UNKNOWN_NAME);
    EXPECT_TRUE(missing.says("value")) << missing;

    bad = in;
    bad[2].array.data = nullptr;
    EXPECT_EQ(run_with(bad, out).status, SURROGATE_INVALID_ARGUMENT);
    EXPECT_EQ(run_with(in, out).status, SURROGATE_SUCCESS);
}

// ---- several states on one grid ----

/// Fields of three states; the second input is one number of each state.
class SphereStates : public testing::Test {
protected:
    static constexpr int64_t n_state = 3;

    SphereStates() {
        for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(0.37 * static_cast<double>(i));
    }
    static json card() {
        json card = sphere_card(changed(small_attention(), {{"in_channels", 2}}), 2, 2);
        card["inputs"][1]["role"] = "cloud";
        return card;
    }
    /// Binds the states from `first` on.
    void bind(Plan& plan, int64_t first, int64_t n, std::vector<double>& y) {
        y.assign(static_cast<size_t>(2 * n * n_point), NAN);
        plan.bind_input("u0", matrix(x.data() + first * n_point, n * n_point, 1));
        plan.bind_input("u1", matrix(number.data() + first, n, 1));
        for (int64_t c = 0; c < 2; ++c)
            plan.bind_output("v" + std::to_string(c),
                             matrix(y.data() + c * n * n_point, n * n_point, 1));
    }
    Answer run(Plan& plan) { return answer(surrogate_plan_run(plan.get())); }
    Answer plan_with(const Domain& place, const Options& options) {
        surrogate_plan* plan = nullptr;
        const Answer found =
            answer(surrogate_plan_create(model.get(), place.get(), nullptr, options.get(), &plan));
        surrogate_plan_destroy(&plan);
        return found;
    }

    const ModelOnDisk file{sphere_model(card()).bytes()};
    const Context context;
    const Model model{context, file.path()};
    const SphereBlock block{model.input_domain(), {.name = ""}, 0, 1};
    const int64_t n_point = block.n_point();
    const Domain domain{context, block.sphere()};
    std::vector<double> x = std::vector<double>(static_cast<size_t>(n_state * n_point));
    std::vector<double> number = {0.5, -1, 2};
};

TEST_F(SphereStates, AreWhatEachIsAlone) {
    Plan all(model, domain, {{"states", "3"}}), one(model, domain);
    std::vector<double> together, alone;
    bind(all, 0, n_state, together);
    ASSERT_EQ(run(all).status, SURROGATE_SUCCESS);
    EXPECT_NE(all.describe().find("3 states"), std::string::npos);
    for (int64_t state = 0; state < n_state; ++state) {
        bind(one, state, 1, alone);
        ASSERT_EQ(run(one).status, SURROGATE_SUCCESS);
        for (int64_t i = 0; i < 2 * n_point; ++i) {
            const int64_t channel = i / n_point, point = i % n_point;
            ASSERT_EQ(together[static_cast<size_t>((channel * n_state + state) * n_point + point)],
                      alone[static_cast<size_t>(i)]);
        }
    }
    // One number for all.
    bind(all, 0, n_state, together);
    all.bind_input("u1", matrix(number.data(), 1, 1));
    ASSERT_EQ(run(all).status, SURROGATE_SUCCESS);
    bind(one, 2, 1, alone);
    one.bind_input("u1", matrix(number.data(), 1, 1));
    ASSERT_EQ(run(one).status, SURROGATE_SUCCESS);
    EXPECT_TRUE(std::equal(alone.begin(), alone.begin() + n_point, together.begin() + 2 * n_point));
}

TEST_F(SphereStates, WithABadValueAreNamed) {
    Plan all(model, domain, {{"states", "3"}});
    std::vector<double> y;
    bind(all, 0, n_state, y);
    x[static_cast<size_t>(n_point + 5)] = NAN;
    const Answer found = run(all);
    EXPECT_EQ(found.status, SURROGATE_NOT_FINITE);
    EXPECT_TRUE(found.says("state 1: input 'u0'") && found.says("column 5")) << found;
    EXPECT_FALSE(std::isnan(y[0]));
    EXPECT_TRUE(std::isnan(y[static_cast<size_t>(n_point)]));
}

TEST_F(SphereStates, CountValuesOutsideTheirRangesInAll) {
    json ranged = card();
    for (json& field : ranged["inputs"]) {
        field["min"] = -1;
        field["max"] = 1;
    }
    const ModelOnDisk ranged_file(sphere_model(ranged).bytes());
    const Model ranged_model(context, ranged_file.path());
    Plan all(ranged_model, domain, {{"states", "3"}, {"range", "error"}, {"agree", "true"}});
    std::vector<double> y;
    x[3] = x[static_cast<size_t>(2 * n_point)] = 4;
    bind(all, 0, n_state, y);
    const Answer found = run(all);
    EXPECT_EQ(found.status, SURROGATE_OUT_OF_RANGE);
    EXPECT_TRUE(found.says("state 0: input 'u0'")) << found;
    EXPECT_EQ(all.range(0).n_outside, 2);
    EXPECT_EQ(all.range(1).n_outside, n_point);  // the number of the last state
}

TEST_F(SphereStates, AreForDenseGridsOnTheHost) {
    EXPECT_EQ(plan_with(domain, {{"states", "3"}, {"gradients", "true"}}).status,
              SURROGATE_NOT_SUPPORTED);
    const SphereBlock wide(model.input_domain(), {.name = "", .ghosts = 1}, 0, 1);
    const Answer found = plan_with(Domain(context, wide.sphere()), {{"states", "3"}});
    EXPECT_EQ(found.status, SURROGATE_NOT_SUPPORTED);
    EXPECT_TRUE(found.says("without lat_stride")) << found;
    std::vector<double> y;
    Plan all(model, domain, {{"states", "3"}});
    try {
        bind(all, 0, 2, y);
        ADD_FAILURE() << "two states were taken for three";
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), SURROGATE_SHAPE);
    }
}

}  // namespace
}  // namespace surrogate::test
