// SPDX-License-Identifier: Apache-2.0
// Linear maps of points: values, derivatives, clouds, files, invalid cards and inputs.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <surrogate/surrogate_train.hpp>
#include <vector>

#include "tests/support/memory_meter.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

using nlohmann::json;

json field(const char* name, const char* role = "field", double mean = 0, double std = 1) {
    return {{"name", name}, {"role", role}, {"unit", "1"}, {"mean", mean}, {"std", std}};
}

json card() {
    json x = field("x", "coordinate");
    x["axis"] = 0;
    return {{"format", 1},
            {"family", "affine"},
            {"network", {{"matrix", {{0.1, -2.5, 3}, {7, 0, 1e-3}}}, {"offset", {1e5, -0.3}}}},
            {"inputs", {x, field("u"), field("speed", "cloud")}},
            {"outputs", {field("p"), field("q")}}};
}

/// Points of this rank in three clouds, fields at them, and the values of the matrix in card().
struct Case {
    explicit Case(std::vector<int64_t> rows) : ids(std::move(rows)) {
        for (const int64_t id : ids) {
            const auto r = static_cast<double>(id);
            x.push_back(std::sin(1.3 * r + 0.1));
            u.push_back(std::cos(0.9 * r) / 3);
            clouds.push_back(id % 3);
            const double s = speed[static_cast<size_t>(clouds.back())];
            expected_p.push_back(1e5 + 0.1 * x.back() + -2.5 * u.back() + 3 * s);
            expected_q.push_back(-0.3 + 7 * x.back() + 0 * u.back() + 1e-3 * s);
        }
        p.resize(ids.size(), -1);
        q.resize(ids.size(), -1);
        for (auto* list : {&ids, &clouds}) list->reserve(1);
    }
    int64_t n() const { return std::ssize(ids); }
    surrogate_points points() const {
        return {matrix(x.data(), n(), 1), ids.data(), clouds.data(), nullptr};
    }
    void bind(Plan& plan) {
        plan.bind_input("u", column(u.data(), n()));
        plan.bind_input("speed", column(speed.data(), 3));
        plan.bind_output("p", column(p.data(), n()));
        plan.bind_output("q", column(q.data(), n()));
    }

    std::vector<int64_t> ids, clouds;
    std::vector<double> x, u, speed{0.7, -1.1, 12}, p, q, expected_p, expected_q;
};

/// The error of `work`.
struct Refusal {
    surrogate_status status = SURROGATE_SUCCESS;
    std::string text;
    bool says(const std::string& part) const { return text.find(part) != std::string::npos; }
};
Refusal refusal(const std::function<void()>& work) {
    try {
        work();
    } catch (const Error& error) {
        return {error.status(), error.what()};
    }
    return {};
}

class Affine : public testing::Test {
protected:
    Model model(const json& card) const { return initialized_model(context_, card.dump(), 0); }

    const Context context_ = mpi_context(world);
    Case own_{own_rows("scattered", 200, world)};
};

TEST_F(Affine, PredictsTheMatrixToTheLastBit) {
    const Domain domain(context_, own_.points());
    const Model affine = model(card());
    for (const Options& options :
         {Options{}, Options{{"reproducible", "true"}}, Options{{"precision", "fp64"}},
          Options{{"backend", "ref"}, {"threads", "3"}}, Options{{"agree", "true"}}}) {
        Plan plan(affine, domain, options);
        own_.bind(plan);
        plan.run();
        EXPECT_EQ(own_.p, own_.expected_p);
        EXPECT_EQ(own_.q, own_.expected_q);
    }
}

TEST_F(Affine, FollowsPoints) {
    Domain domain(context_, own_.points());
    Plan plan(model(card()), domain);
    own_.bind(plan);
    plan.run();
    Case moved(own_rows("uneven", 300, world));
    domain.update_points(moved.points());
    moved.bind(plan);
    plan.run();
    EXPECT_EQ(moved.p, moved.expected_p);
}

TEST_F(Affine, ConvertsMeansAndDeviationsOfTheCard) {
    json scaled = card();
    for (const char* list : {"inputs", "outputs"}) {
        for (json& one : scaled[list]) {
            one["mean"] = 3.7;
            one["std"] = 11;
        }
    }
    const Domain domain(context_, own_.points());
    Plan plan(model(scaled), domain);
    own_.bind(plan);
    plan.run();
    for (size_t i = 0; i < own_.p.size(); ++i) {
        EXPECT_NEAR(own_.p[i], own_.expected_p[i], 1e-9);
        EXPECT_NEAR(own_.q[i], own_.expected_q[i], 1e-13);
    }
}

TEST_F(Affine, DifferentiatesInBothDirections) {
    const Domain domain(context_, own_.points());
    Plan plan(model(card()), domain, {{"gradients", "inputs"}});
    own_.bind(plan);
    std::vector<double> w(own_.u), gx(w.size()), gu(w.size()), gs(3), jp(w.size());
    plan.bind_output_gradient("p", column(w.data(), own_.n()));
    plan.bind_input_gradient("x", column(gx.data(), own_.n()));
    plan.bind_input_gradient("u", column(gu.data(), own_.n()));
    plan.bind_input_gradient("speed", column(gs.data(), 3));
    plan.run();
    plan.run_backward();
    const MemoryMeter meter;
    plan.run();
    plan.run_backward();
    EXPECT_EQ(meter.n_allocation(), 0);
    double sums[] = {0, 0, 0};
    for (int64_t id = 0; id < 200; ++id)
        sums[id % 3] += 3 * std::cos(0.9 * static_cast<double>(id)) / 3;
    for (size_t i = 0; i < w.size(); ++i) {
        EXPECT_EQ(gx[i], 0.1 * w[i]);
        EXPECT_EQ(gu[i], -2.5 * w[i]);
    }
    for (size_t cloud = 0; cloud < 3; ++cloud) EXPECT_NEAR(gs[cloud], sums[cloud], 1e-12);

    plan.bind_input_tangent("u", column(w.data(), own_.n()));
    plan.bind_output_tangent("p", column(jp.data(), own_.n()));
    plan.run_tangent();
    for (size_t i = 0; i < w.size(); ++i) EXPECT_NEAR(jp[i], -2.5 * w[i], 1e-6);
}

TEST_F(Affine, ReportsAnInputThatIsNotFinite) {
    const Domain domain(context_, own_.points());
    Plan plan(model(card()), domain, {{"agree", "true"}});
    own_.bind(plan);
    if (rank_of(world) == size_of(world) - 1) own_.u[0] = NAN;
    const Refusal found = refusal([&] { plan.run(); });
    EXPECT_EQ(found.status, SURROGATE_NOT_FINITE);
    EXPECT_TRUE(found.says("'u'")) << found.text;
    if (rank_of(world) == size_of(world) - 1)
        for (const double value : own_.p) EXPECT_TRUE(std::isnan(value));
    else
        EXPECT_EQ(own_.p, own_.expected_p);
}

TEST_F(Affine, IsSavedAndLoaded) {
    const std::string path =
        testing::TempDir() + "affine_" + std::to_string(size_of(world)) + ".st";
    const Model before = model(card());
    before.save(path);
    const Model after(context_, path);
    EXPECT_EQ(after.hash(), before.hash());
    const Domain domain(context_, own_.points());
    Plan plan(after, domain);
    own_.bind(plan);
    plan.run();
    EXPECT_EQ(own_.p, own_.expected_p);
}

TEST_F(Affine, IsNotTrainedNorOnDevices) {
    const Domain domain(context_, own_.points());
    Plan plan(model(card()), domain, {{"gradients", "true"}});
    Refusal found = refusal([&] { Trainer trainer(plan, {}); });
    EXPECT_EQ(found.status, SURROGATE_NOT_SUPPORTED);
    EXPECT_TRUE(found.says("no weights to train; models of family 'affine'")) << found.text;
    found = refusal([&] { Plan(model(card()), domain, {{"backend", "cuda"}}); });
    EXPECT_EQ(found.status, SURROGATE_NOT_SUPPORTED);
}

TEST_F(Affine, RejectsInvalidCards) {
    const auto expect = [&](const char* pointer, const json& value, const std::string& words) {
        json wrong = card();
        wrong[json::json_pointer(pointer)] = value;
        const Refusal found = refusal([&] { model(wrong); });
        EXPECT_EQ(found.status, SURROGATE_BAD_FILE) << words;
        EXPECT_TRUE(found.says(words)) << found.text;
    };
    expect("/network", {{"matrix", {{1, 2, 3}, {4, 5, 6}}}}, "'offset' is missing");
    expect("/network", {{"offset", {1, 2}}}, "'matrix' is missing");
    expect("/network/bias", 1, "bias");
    expect("/network/matrix", json::array(), "expected a list of rows, one per output");
    expect("/network/matrix", {{1, 2, 3}, {4, 5}}, "matrix[1]': found 2 numbers, expected 3");
    expect("/network/matrix", {{1, 2}, {4, 5}}, "found 2 columns, expected 3");
    expect("/network/matrix", {{1, 2, 3}}, "offset': found 2 numbers, expected 1");
    expect("/network/matrix/1/2", "one", "matrix[1][2]': expected a number");
    expect("/network/matrix/0", 3, "matrix[0]': expected a list of numbers");
    expect("/network/offset", {1, nullptr}, "offset[1]': expected a number");
    expect("/outputs/2", field("r"), "found 2 rows, expected 3");
    expect("/conventions", "0.9", "no conventions");
    // JSON has no NaN; a number that is too large is rejected by the parser.
    std::string text = card().dump();
    text.replace(text.find("-2.5"), 4, "1e999");
    EXPECT_EQ(refusal([&] { initialized_model(context_, text, 0); }).status, SURROGATE_BAD_FILE);
}

}  // namespace
}  // namespace surrogate::test
