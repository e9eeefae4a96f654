// SPDX-License-Identifier: Apache-2.0
// Ports of a plan that are not fields at points: positions, integers, clouds, nodes.
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "libsurrogate/src/plan/plan.hpp"
#include "libsurrogate/src/transport/mpi_communicator.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

using impl::Column;
using impl::NumberKind;
using impl::PortPlace;
using kernels::Status;

constexpr int64_t n_level = 3;

/// Computes y = position 0 + 10 position 1 + 100 field + 1000 token, at points; its sum over all
/// points, at clouds; and the sum times 1, 2, 3 at three nodes. The columns of positions must be
/// the columns of the request.
class SumProgram final : public impl::Program {
public:
    explicit SumProgram(const impl::PlanRequest& request)
        : domain_(request.input), positions_(request.coordinates) {}

    void connect() override {
        domain_.context().comm().agree([&] { y_.resize(n()); });
    }
    bool follow() override {
        connect();
        return true;
    }
    impl::BadValue gather(std::span<const Column> inputs, impl::OutsideCounts& outside) override {
        has_positions_ = true;
        std::vector<double> x(3 * n());
        const auto bad = impl::gather<double>(inputs.first(3), 0, domain_.n_local(), x.data(), 3, 1,
                                              outside.of(0));
        for (size_t axis = 0; axis < 2; ++axis)
            has_positions_ = has_positions_ && inputs[axis].data == positions_[axis].data &&
                             inputs[axis].mean == positions_[axis].mean &&
                             inputs[axis].std == positions_[axis].std;
        for (size_t i = 0; i < n(); ++i) {
            const auto at = static_cast<int64_t>(i);
            y_[i] = x[3 * i] + 10 * x[3 * i + 1] + 100 * x[3 * i + 2] +
                    1000 * static_cast<double>(load_integer(inputs[3], at));
        }
        return bad;
    }
    bool evaluate(bool alive) override {
        sum_ = alive ? 0 : NAN;
        for (const double y : y_) sum_ += y;
        domain_.context().comm().all_reduce_sum(std::span(&sum_, 1));
        return std::isfinite(sum_);
    }
    impl::BadValue scatter(std::span<const Column> outputs, bool alive) override {
        if (outputs.empty()) return {};
        for (size_t i = 0; i < n(); ++i)
            store(outputs[0], static_cast<int64_t>(i), alive && has_positions_ ? y_[i] : NAN);
        store(outputs[1], 0, alive ? sum_ : NAN);
        for (int64_t i = 0; i < n_level; ++i)
            store(outputs[2], i, alive ? sum_ * static_cast<double>(i + 1) : NAN);
        return {};
    }
    int64_t bytes() const override { return 0; }
    int64_t n_point() const override { return domain_.n_local(); }
    int64_t n_node() const override { return n_level; }
    std::vector<impl::LayerCost> costs() const override { return {}; }
    std::vector<std::string> notes() const override { return {}; }

private:
    size_t n() const { return static_cast<size_t>(domain_.n_local()); }

    const impl::Domain& domain_;
    std::span<const Column> positions_;
    bool has_positions_ = false;
    std::vector<double> y_;
    double sum_ = 0;
};

class SumNetwork final : public impl::Network {
public:
    std::vector<impl::Port> inputs() const override {
        return {{"positions", 2, PortPlace::coordinates},
                {"f", 1},
                {"token", 1, PortPlace::input_points, NumberKind::integer}};
    }
    std::vector<impl::Port> outputs() const override {
        return {{"y", 1, PortPlace::output_points},
                {"sum", 1, PortPlace::clouds},
                {"levels", 1, PortPlace::nodes}};
    }
    std::unique_ptr<impl::Program> program(const impl::PlanRequest& request) const override {
        return std::make_unique<SumProgram>(request);
    }
};

impl::FieldCard coordinate(int axis, double mean, double std) {
    return {std::string(1, "xyz"[axis]), "m", true, axis, false, mean, std, -1, 1};
}
impl::FieldCard field(const std::string& name, double mean = 0, double std = 1) {
    return {name, "", false, -1, false, mean, std, -INFINITY, INFINITY};
}

impl::Card bare() {
    impl::Card card;
    card.family = "sum";
    return card;
}
impl::Card with_fields() {
    impl::Card card = bare();
    card.inputs = {coordinate(0, 0.5, 2), coordinate(1, -1, 4), field("f", 3, 0.5), field("token")};
    card.outputs = {field("y"), field("sum"), field("level")};
    return card;
}

/// Points 0 .. n - 1 of a rank and of all; the number of a point says everything about it.
class PortsOnRanks : public testing::Test {
protected:
    static constexpr int64_t n = 23;

    std::shared_ptr<impl::Model> model(const impl::Card& card) {
        return std::make_shared<impl::Model>(context, card, std::make_unique<SumNetwork>());
    }
    void set_points(double shift) {
        x.clear();
        f.clear();
        token.clear();
        for (const int64_t row : rows) {
            const auto at = static_cast<double>(row);
            for (int axis = 0; axis < n_axis; ++axis) x.push_back(std::sin(at + axis) / 2 + shift);
            f.push_back(std::cos(at));
            token.push_back(row % 5);
        }
    }
    surrogate_points points() const {
        return {matrix(x.data(), std::ssize(rows), n_axis), nullptr, nullptr, nullptr};
    }
    impl::Plan plan(const impl::Card& card, const char* coordinates = "physical") {
        const surrogate_points given = points();
        domain = std::make_shared<impl::PointDomain>(context, &given);
        impl::Options options;
        options.set("coordinates", coordinates);
        return {model(card), domain, domain, options};
    }
    surrogate_array tokens() {
        return {token.data(), {std::ssize(rows), 1}, {1, 1}, SURROGATE_INT64, SURROGATE_HOST};
    }
    std::vector<surrogate_named_array> inputs() {
        return {{"f", column(f.data(), std::ssize(f))}, {"token", tokens()}};
    }
    std::vector<surrogate_named_array> outputs() {
        return {{"y", column(y.data(), std::ssize(rows))},
                {"sum", column(&sum, 1)},
                {"levels", column(levels.data(), n_level)}};
    }
    void bind(impl::Plan& plan) {
        const surrogate_array in = column(f.data(), std::ssize(f)), t = tokens();
        plan.bind_input("f", nullptr, &in);
        plan.bind_input("token", nullptr, &t);
        const char* const names[] = {"y", "sum", "level"};
        const auto out = outputs();
        for (size_t i = 0; i < 3; ++i) plan.bind_output(names[i], nullptr, &out[i].array);
    }
    /// y of own points where positions are (x - mean) / std.
    void expect_results(const double (&mean)[2], const double (&std)[2], double f_mean = 0,
                        double f_std = 1) {
        std::vector<double> expected;
        for (size_t i = 0; i < rows.size(); ++i) {
            const size_t first = i * static_cast<size_t>(n_axis);
            expected.push_back(
                (x[first] - mean[0]) / std[0] + 10 * ((x[first + 1] - mean[1]) / std[1]) +
                100 * (f[i] - f_mean) / f_std + 1000 * static_cast<double>(token[i]));
            EXPECT_NEAR(y[i], expected[i], 1e-9) << "point " << rows[i];
        }
        double total = 0;
        for (const double value : gathered(expected, world)) total += value;
        EXPECT_NEAR(sum, total, 1e-7);
        for (size_t i = 0; i < levels.size(); ++i)
            EXPECT_NEAR(levels[i], total * static_cast<double>(i + 1), 1e-7);
    }

    const std::shared_ptr<impl::Context> context = std::make_shared<impl::Context>(
        impl::mpi_communicator(world), impl::Options{}, impl::Placement{});
    std::vector<int64_t> rows = own_rows("uneven", n, world);
    int n_axis = 2;
    std::vector<double> x, f;
    std::vector<int64_t> token;
    std::shared_ptr<impl::PointDomain> domain;
    std::vector<double> y = std::vector<double>(n, NAN), levels = std::vector<double>(n_level, NAN);
    double sum = NAN;
};

TEST_F(PortsOnRanks, TakePositionsFromTheDomainAsTheyAre) {
    set_points(0);
    impl::Plan plan = this->plan(bare());
    plan.run_network(inputs(), outputs());
    expect_results({0, 0}, {1, 1});
    EXPECT_EQ(plan.counter("nodes"), n_level);
}

TEST_F(PortsOnRanks, TakePositionsFromTheDomainAsTheCardNormalisesThem) {
    set_points(0.25);
    impl::Plan plan = this->plan(with_fields());
    plan.run_network(inputs(), outputs());
    expect_results({0.5, -1}, {2, 4});
}

TEST_F(PortsOnRanks, TakePositionsAsTheyAreIfTheyAreTheNetworksAlready) {
    set_points(0.25);
    impl::Plan plan = this->plan(with_fields(), "normalized");
    plan.run_network(inputs(), outputs());
    expect_results({0, 0}, {1, 1});
    const surrogate_range_info range = plan.range(0);  // of the card: -1 .. 1, mean 0.5, std 2
    EXPECT_DOUBLE_EQ(range.min, -0.75);
    EXPECT_DOUBLE_EQ(range.max, 0.25);
}

TEST_F(PortsOnRanks, FollowPointsThatMove) {
    set_points(0);
    impl::Plan bare_plan = this->plan(bare());
    impl::Plan plan(model(with_fields()), domain, domain, {});
    for (const char* partition : {"uneven", "contiguous"}) {
        rows = own_rows(partition, n, world);
        set_points(0.125);
        const surrogate_points moved = points();
        domain->move(&moved);
        bare_plan.run_network(inputs(), outputs());
        expect_results({0, 0}, {1, 1});
        plan.run_network(inputs(), outputs());
        expect_results({0.5, -1}, {2, 4});
    }
}

TEST_F(PortsOnRanks, AreBoundByTheCardWithTheirOwnRowsAndTypes) {
    set_points(0);
    impl::Plan plan = this->plan(with_fields());
    bind(plan);
    plan.run();
    expect_results({0.5, -1}, {2, 4}, 3, 0.5);
    std::vector<int32_t> narrow(token.begin(), token.end());
    const surrogate_array t{
        narrow.data(), {std::ssize(rows), 1}, {1, 1}, SURROGATE_INT32, SURROGATE_HOST};
    plan.bind_input("token", nullptr, &t);
    sum = NAN;
    plan.run();
    expect_results({0.5, -1}, {2, 4}, 3, 0.5);
}

TEST_F(PortsOnRanks, RefuseWhatDoesNotFit) {
    set_points(0);
    impl::Plan plan = this->plan(with_fields());
    bind(plan);
    const surrogate_array two = column(levels.data(), 2), reals = column(f.data(), std::ssize(f));
    Refusal found = refusal([&] { plan.bind_output("sum", nullptr, &two); });
    EXPECT_EQ(found.status, Status::shape);
    EXPECT_TRUE(found.says("output 'sum'") && found.says("clouds ask for (1, 1)")) << found.text;
    found = refusal([&] { plan.bind_output("level", nullptr, &two); });
    EXPECT_TRUE(found.says("nodes ask for (3, 1)")) << found.text;
    found = refusal([&] { plan.bind_input("token", nullptr, &reals); });
    EXPECT_EQ(found.status, Status::invalid_argument);
    EXPECT_TRUE(found.says("SURROGATE_INT32 or SURROGATE_INT64")) << found.text;
    const surrogate_block block{token.data(),
                                {std::ssize(f), 1, 1, 1},
                                {1, 1, 1, 1},
                                1,
                                SURROGATE_FLOAT64,
                                SURROGATE_HOST,
                                0};
    found = refusal([&] { plan.bind_input("token", nullptr, &block); });
    EXPECT_TRUE(found.says("takes integers")) << found.text;
    found = refusal([&] { plan.bind_output("sum", nullptr, &block); });
    EXPECT_TRUE(found.says("a block holds points")) << found.text;
    auto given = inputs();
    given.push_back({"positions", matrix(x.data(), std::ssize(rows), 2)});
    found = refusal([&] { plan.run_network(given, outputs()); });
    EXPECT_EQ(found.status, Status::unknown_name);
    EXPECT_TRUE(found.says("besides 'positions', which come from the domain")) << found.text;
    EXPECT_TRUE(ranks_still_talk(world));
}

TEST_F(PortsOnRanks, NeedADomainWithThatManyCoordinates) {
    for (const auto& [axes, text] : {std::pair{0, "have 0 coordinates"}, {1, "have 1 coord"}}) {
        n_axis = axes;
        set_points(0);
        const Refusal found = refusal([&] { plan(bare()); });
        EXPECT_EQ(found.status, Status::shape);
        EXPECT_TRUE(found.says("network input 'positions' takes the 2 coordinates")) << found.text;
        EXPECT_TRUE(found.says(text)) << found.text;
        EXPECT_TRUE(ranks_still_talk(world));
    }
}

TEST_F(PortsOnRanks, MustBeNamedByTheCardAsTheyAre) {
    impl::Card card = with_fields();
    std::swap(card.inputs[0], card.inputs[1]);
    Refusal found = refusal([&] { model(card); });
    EXPECT_EQ(found.status, Status::bad_file);
    EXPECT_TRUE(found.says("input 0 'y' is coordinate 1") &&
                found.says("first 2 inputs are the coordinates of axes 0, 1"))
        << found.text;
    card = with_fields();
    card.inputs[1] = field("f");
    found = refusal([&] { model(card); });
    EXPECT_TRUE(found.says("input 1 'f' is a field")) << found.text;
    card = with_fields();
    card.inputs[3].std = 2;
    found = refusal([&] { model(card); });
    EXPECT_EQ(found.status, Status::bad_file);
    EXPECT_TRUE(found.says("input 'token' is an integer")) << found.text;
}

}  // namespace
}  // namespace surrogate::test
