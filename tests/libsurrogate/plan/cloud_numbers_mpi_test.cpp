// SPDX-License-Identifier: Apache-2.0
// Inputs that are one number per cloud: arrays, one number, ranks that differ, moves, training.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <surrogate/surrogate_train.hpp>
#include <vector>

#include "tests/support/darcy_case.hpp"
#include "tests/support/golden_file.hpp"
#include "tests/support/hept_models.hpp"
#include "tests/support/model_parts.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/sphere_models.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

using nlohmann::json;

json coordinate(const char* name, int axis) {
    return {{"name", name}, {"role", "coordinate"}, {"axis", axis}, {"unit", "m"}, {"mean", 0},
            {"std", 1}};
}

/// A small HEPT of two coordinates, a field `size`, and `speed` of the given role.
std::string hept_file(const char* role) {
    const json speed = {{"name", "speed"}, {"role", role}, {"unit", "m/s"}, {"mean", 2},
                        {"std", 0.7},      {"min", 0},     {"max", 10}};
    const json size = {{"name", "size"}, {"unit", "1"}, {"mean", 0.1}, {"std", 2}};
    return hept_model({{"format", 1},
                       {"family", "hept"},
                       {"network", small_hept()},
                       {"inputs", {coordinate("x", 0), coordinate("y", 1), size, speed}},
                       {"outputs", {{{"name", "load"}, {"unit", "1"}, {"mean", 0}, {"std", 1}}}}})
        .bytes();
}

/// Points of this rank in clouds, and the fields at them.
struct Clouds {
    std::vector<double> x, size, speed, load;
    std::vector<int64_t> ids, clouds;

    /// speeds (n_cloud): at the points of the cloud.
    Clouds(const std::vector<int64_t>& rows, int64_t n_cloud, const std::vector<double>& speeds) {
        for (const int64_t row : rows) {
            const double r = static_cast<double>(row);
            x.push_back(std::sin(1.3 * r + 0.1));
            x.push_back(std::sin(2.1 * r + 0.4));
            size.push_back(std::cos(0.9 * r));
            ids.push_back(row);
            clouds.push_back(row * 7 % n_cloud);
            speed.push_back(speeds[static_cast<size_t>(clouds.back()) % speeds.size()]);
        }
        load.resize(rows.size(), -1);
        for (std::vector<int64_t>* list : {&ids, &clouds}) list->reserve(1);
    }
    int64_t n() const { return std::ssize(ids); }
    surrogate_points points() const {
        return {matrix(x.data(), n(), 2), ids.data(), clouds.data(), nullptr};
    }
    void bind(Plan& plan) {
        plan.bind_input("size", column(size.data(), n()));
        plan.bind_output("load", column(load.data(), n()));
    }
};

Answer answer_of(const std::function<void()>& work) {
    try {
        work();
    } catch (const Error& error) {
        return {error.status(), error.what()};
    }
    return {};
}

class CloudNumbers : public testing::Test {
protected:
    /// Predictions of the same model with the number as a field at points.
    std::vector<double> expected(Clouds own) const {
        const Domain domain(context_, own.points());
        Plan plan(by_point_, domain);
        own.bind(plan);
        plan.bind_input("speed", column(own.speed.data(), own.n()));
        plan.run();
        return own.load;
    }

    const ModelOnDisk cloud_file_{hept_file("cloud")}, point_file_{hept_file("field")};
    const Context context_ = mpi_context(world);
    const Model model_{context_, cloud_file_.path()}, by_point_{context_, point_file_.path()};
    const std::vector<double> speeds_{1.5, 0.25, 3, 2.75};
    Clouds own_{own_rows("scattered", 150, world), 4, speeds_};
};

TEST_F(CloudNumbers, AreOnTheCard) {
    const surrogate_field_info speed = model_.inputs()[3];
    EXPECT_EQ(speed.role, SURROGATE_CLOUD);
    EXPECT_EQ(speed.axis, -1);
}

TEST_F(CloudNumbers, EqualTheSameNumbersAtPoints) {
    const Domain domain(context_, own_.points());
    const std::vector<double> all = expected(own_);
    for (const char* agree : {"false", "true"}) {
        Plan plan(model_, domain, {{"agree", agree}});
        own_.bind(plan);
        std::vector<double> rows = speeds_;
        plan.bind_input("speed", column(rows.data(), 4), "m/s");
        plan.run();
        EXPECT_EQ(own_.load, all);
        // The caller's memory is read by each run, with any stride and type.
        std::vector<float> table(8, NAN);
        for (size_t i = 0; i < 4; ++i) table[2 * i] = static_cast<float>(rows[i] = 1 - speeds_[i]);
        plan.run();
        const Clouds negative(own_.ids, 4, rows);
        EXPECT_EQ(own_.load, expected(negative));
        plan.bind_input("speed", column(table.data(), 4, 2));
        plan.run();
        EXPECT_EQ(own_.load, expected(negative));
    }
}

TEST_F(CloudNumbers, MayBeOneNumberForAllClouds) {
    const Domain domain(context_, own_.points());
    Plan plan(model_, domain, {{"agree", "true"}});
    own_.bind(plan);
    double speed = 0.5;
    plan.bind_input("speed", speed, "m/s");
    for (const double value : {0.5, 2.0}) {
        speed = value;
        plan.run();
        EXPECT_EQ(own_.load, expected(Clouds(own_.ids, 4, {value})));
    }
}

TEST_F(CloudNumbers, FollowPointsThatMove) {
    Clouds own = own_;
    Domain domain(context_, own.points());
    Plan plan(model_, domain, {{"agree", "true"}});
    std::vector<double> rows = {1, 2, 3, 4, 5, 6};
    own.bind(plan);
    plan.bind_input("speed", column(rows.data(), 4));
    plan.run();
    const auto move = [&](const char* partition, int64_t n, int64_t n_cloud) {
        own = Clouds(own_rows(partition, n, world), n_cloud, rows);
        domain.update_points(own.points());
        own.bind(plan);
    };
    move("uneven", 400, 4);
    plan.run();
    EXPECT_EQ(own.load, expected(own));
    move("contiguous", 90, 6);
    const Answer found = answer_of([&] { plan.run(); });
    EXPECT_EQ(found.status, SURROGATE_SHAPE);
    EXPECT_TRUE(found.says("'speed'") && found.says("4 rows") && found.says("6 clouds")) << found;
    plan.bind_input("speed", column(rows.data(), 6));
    plan.run();
    EXPECT_EQ(own.load, expected(own));
    const double one = 1;
    plan.bind_input("speed", one);
    move("scattered", 20, 1);
    plan.run();
    EXPECT_EQ(own.load, expected(own));
}

TEST_F(CloudNumbers, AreRejectedIfTheArrayDoesNotFit) {
    const Domain domain(context_, own_.points());
    Plan plan(model_, domain, {{"agree", "true"}});
    own_.bind(plan);
    std::vector<double> rows(static_cast<size_t>(own_.n()) + 5);
    const auto bound = [&](const surrogate_array& array, const char* unit = nullptr) {
        return answer(surrogate_plan_bind_input(plan.get(), "speed", unit, &array));
    };
    for (const int64_t n : {int64_t{0}, int64_t{3}, int64_t{5}}) {
        const Answer found = bound(column(rows.data(), n));
        EXPECT_EQ(found.status, SURROGATE_SHAPE);
        EXPECT_TRUE(found.says("'speed'") && found.says("(4, 1), or one number for all clouds"))
            << found;
    }
    EXPECT_EQ(bound(matrix(rows.data(), 4, 2)).status, SURROGATE_SHAPE);
    EXPECT_EQ(bound(column(rows.data(), 4), "km/h").status, SURROGATE_INVALID_ARGUMENT);
    surrogate_array device = column(rows.data(), 4);
    device.space = SURROGATE_CUDA;
    EXPECT_EQ(bound(device).status, SURROGATE_NOT_SUPPORTED);
    const surrogate_block block = {rows.data(), {4}, {1}, 1, SURROGATE_FLOAT64, 0, 0};
    const Answer as_block =
        answer(surrogate_plan_bind_input_block(plan.get(), "speed", nullptr, &block));
    EXPECT_EQ(as_block.status, SURROGATE_NOT_SUPPORTED) << as_block;
    const Answer unbound = answer_of([&] { plan.run(); });
    EXPECT_EQ(unbound.status, SURROGATE_INVALID_ARGUMENT);
    EXPECT_TRUE(unbound.says("'speed' is not bound")) << unbound;
}

TEST_F(CloudNumbers, ThatDifferBetweenRanksAreOneErrorOnAllRanks) {
    if (size_of(world) == 1) GTEST_SKIP() << "needs two ranks";
    const Domain domain(context_, own_.points());
    Plan plan(model_, domain, {{"agree", "true"}});
    own_.bind(plan);
    std::vector<double> rows = speeds_;
    plan.bind_input("speed", column(rows.data(), 4));
    const auto found_with = [&](double last) {
        rows[3] = last;
        const Answer found = answer_of([&] { plan.run(); });
        EXPECT_TRUE(found == answer_of_rank_0(found, world)) << found;
        return found;
    };
    const double away = std::nextafter(speeds_[3], 10);
    const Answer found = found_with(rank_of(world) == 1 ? away : speeds_[3]);
    EXPECT_EQ(found.status, SURROGATE_INVALID_ARGUMENT);
    EXPECT_TRUE(found.says("'speed'") && found.says("on all ranks")) << found;
    EXPECT_EQ(found_with(away).status, SURROGATE_SUCCESS);
    // A rank that cannot run, or has bound nothing, is the cause.
    const Answer other = answer_of([&] {
        if (rank_of(world) == 1) plan.run_with_error(SURROGATE_IO, "no file");
        plan.run();
    });
    EXPECT_EQ(other.status, SURROGATE_IO);
    Plan missing(model_, domain, {{"agree", "true"}});
    own_.bind(missing);
    if (rank_of(world) != 1) missing.bind_input("speed", column(rows.data(), 4));
    check(surrogate_plan_unbind(missing.get()));
    own_.bind(missing);
    const Answer unbound = answer_of([&] { missing.run(); });
    EXPECT_TRUE(unbound.says("rank 1: input 'speed' is not bound")) << unbound;
}

TEST_F(CloudNumbers, ThatAreNotFiniteOrOutOfRangeNameTheCloud) {
    const Domain domain(context_, own_.points());
    Plan plan(model_, domain, {{"agree", "true"}, {"range", "error"}});
    own_.bind(plan);
    std::vector<double> rows = speeds_;
    plan.bind_input("speed", column(rows.data(), 4));
    rows[2] = NAN;
    const Answer bad = answer_of([&] { plan.run(); });
    EXPECT_EQ(bad.status, SURROGATE_NOT_FINITE);
    EXPECT_TRUE(bad.says("'speed' is nan at cloud 2")) << bad;
    rows[2] = 12;
    const Answer outside = answer_of([&] { plan.run(); });
    EXPECT_EQ(outside.status, SURROGATE_OUT_OF_RANGE);
    EXPECT_TRUE(outside.says("'speed'") && outside.says("first in cloud 2")) << outside;
    int64_t n = 0;
    for (const int64_t cloud : own_.clouds) n += cloud == 2;
    EXPECT_EQ(plan.range(3).n_outside, n);
    const double speed = 12;
    plan.bind_input("speed", speed);
    EXPECT_TRUE(answer_of([&] { plan.run(); }).says("first in all clouds"));
}

TEST_F(CloudNumbers, TrainAsTheSameNumbersAtPoints) {
    // One rank each: HEPT trains on one.
    const Context self;
    std::vector<std::vector<float>> weights;
    const std::vector<double> targets(150, 0.3);
    for (const char* const role : {"cloud", "field"}) {
        const ModelOnDisk file(hept_file(role));
        const Model model(self, file.path());
        Clouds all(first_rows(150), 4, speeds_);
        const Domain domain(self, all.points());
        Plan plan(model, domain, {{"gradients", "true"}});
        all.bind(plan);
        const bool is_cloud = std::string(role) == "cloud";
        plan.bind_input("speed",
                        is_cloud ? column(speeds_.data(), 4) : column(all.speed.data(), 150));
        Trainer trainer(plan, {{"learning_rate", "1e-2"}, {"reservoir", "4"}});
        trainer.bind_target("load", column(targets.data(), 150));
        for (int i = 0; i < 3; ++i) trainer.step();
        trainer.reservoir_add();
        trainer.reservoir_step(2);
        const ModelOnDisk saved(std::string{});
        trainer.save_model(saved.path());
        weights.emplace_back();
        const ModelParts<float> parts(saved.path());
        for (const auto& values : parts.values)
            weights.back().insert(weights.back().end(), values.begin(), values.end());
    }
    EXPECT_EQ(weights[0], weights[1]);
}

/// A model with one cloud: FLARE, whose mobility becomes a number.
TEST(CloudNumbersOfFlare, AreOneForAllPoints) {
    const Context context = mpi_context(world);
    ModelParts<float> parts(darcy_model);
    const Model by_point(context, darcy_model);
    parts.card["inputs"][2]["role"] = "cloud";
    parts.card.erase("pooled");
    const auto tensors = parts.tensors();
    const Model model(context, parts.card.dump(), tensors);
    DarcyCase points(own_rows("scattered", 300, world));
    points.mobility.assign(points.mobility.size(), 7);
    const std::vector<double> expected = predict(by_point, context, points);
    const Domain domain = points.domain(context);
    Plan plan(model, domain);
    plan.bind_output("pressure", column(points.pressure.data(), points.n()));
    const double mobility = 7;
    plan.bind_input("mobility", mobility, "m^2/(Pa s)");
    plan.run();
    EXPECT_EQ(points.pressure, expected);
    // Numbers of several clouds.
    const std::vector<double> rows = {4, 9, 6.5};
    std::vector<int64_t> clouds;
    clouds.reserve(1);
    for (size_t i = 0; i < points.ids.size(); ++i) {
        clouds.push_back(points.ids[i] / 100);
        points.mobility[i] = rows[static_cast<size_t>(clouds[i])];
    }
    const Domain many(
        context, surrogate_points{points.points().x, points.ids.data(), clouds.data(), nullptr});
    Plan at_points(by_point, many), at_clouds(model, many);
    points.bind(at_points);
    at_points.run();
    const std::vector<double> of_points = points.pressure;
    at_clouds.bind_output("pressure", column(points.pressure.data(), points.n()));
    at_clouds.bind_input("mobility", column(rows.data(), 3));
    at_clouds.run();
    EXPECT_EQ(points.pressure, of_points);
}

TEST(CloudNumbersOfFlare, AreRejectedOnCardsWhereTheyCannotBe) {
    ModelParts<float> parts(darcy_model);
    const Context context;
    const auto found = [&] {
        const auto tensors = parts.tensors();
        return answer_of([&] { Model(context, parts.card.dump(), tensors); });
    };
    parts.card["outputs"][0]["role"] = "cloud";
    EXPECT_TRUE(found().says("expected \"class\" or \"field\", found \"cloud\"")) << found();
    parts.card["outputs"][0].erase("role");
    parts.card["inputs"][2]["role"] = "cluod";
    EXPECT_TRUE(found().says("expected \"coordinate\", \"cloud\" or \"field\"")) << found();
    parts.card["inputs"][2]["role"] = "cloud";
    parts.card["inputs"][2]["axis"] = 2;
    EXPECT_TRUE(found().says("axis")) << found();
}

}  // namespace
}  // namespace surrogate::test
