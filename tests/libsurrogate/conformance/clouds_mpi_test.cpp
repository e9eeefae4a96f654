// SPDX-License-Identifier: Apache-2.0
// A law of every network that keeps clouds apart: a plan of many clouds gives what a plan of each
// cloud alone gives, and the gradients of many clouds are the sum of theirs; in the reproducible
// mode bitwise, however the points are distributed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "libsurrogate/src/api/handles.hpp"
#include "libsurrogate/src/layers/gradient_sums.hpp"
#include "libsurrogate/src/model/family/clouds_program.hpp"
#include "tests/libsurrogate/conformance/family_case.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

/// Numbers of points of clouds. Two of them are empty.
using Sizes = std::vector<int64_t>;
const Sizes many_sizes = {5, 0, 1, 40, 2, 23, 64, 0, 17};

/// All points of a problem, in the order of their clouds, with an id each.
struct Points {
    explicit Points(const Sizes& sizes) {
        for (size_t c = 0; c < sizes.size(); ++c)
            cloud.insert(cloud.end(), static_cast<size_t>(sizes[c]), static_cast<int64_t>(c));
    }
    int64_t n() const { return std::ssize(cloud); }
    double position(int64_t point, int64_t axis) const {
        std::mt19937 random(static_cast<unsigned>(point * 8 + axis));
        return static_cast<float>(random() % 4096) / 4096.0f + 1e-3 * static_cast<double>(point);
    }
    static double value(int64_t point, int64_t port, int64_t channel) {
        const double phase = 0.6 + 0.5 * static_cast<double>(port) + static_cast<double>(channel);
        return static_cast<float>(std::sin(1.3 * static_cast<double>(point) + phase));
    }
    std::vector<int64_t> cloud;
};

/// The points of `cloud`, or of all.
std::vector<int64_t> points_of(const Points& points, std::optional<int64_t> cloud) {
    std::vector<int64_t> list;
    for (int64_t p = 0; p < points.n(); ++p)
        if (!cloud || points.cloud[static_cast<size_t>(p)] == *cloud) list.push_back(p);
    return list;
}

/// The points of this rank.
///   whole      every cloud on one rank
///   scattered  neighboring points on different ranks
///   cut        equal shares in the order of the clouds
///   last       all points on the last rank
std::vector<int64_t> points_of_rank(const Points& points, const std::string& partition, int rank,
                                    int size) {
    std::vector<int64_t> list;
    for (int64_t p = 0; p < points.n(); ++p) {
        const int64_t owner = partition == "whole" ? points.cloud[static_cast<size_t>(p)] % size
                              : partition == "scattered" ? p % size
                              : partition == "cut"       ? p * size / points.n()
                                                         : size - 1;
        if (owner == rank) list.push_back(p);
    }
    // In no particular order.
    std::shuffle(list.begin(), list.end(), std::mt19937(static_cast<unsigned>(rank)));
    return list;
}

/// A domain of some of the points, and arrays for the ports of a network there.
class CloudRun {
public:
    CloudRun(const Context& context, const Model& model, const Points& points,
             const std::vector<int64_t>& own, bool has_clouds)
        : own_(own), ports_(model.ports()) {
        int64_t n_axis = 2;
        for (const surrogate_port_info& port : ports_)
            if (port.location == SURROGATE_COORDINATES) n_axis = port.n_channel;
        for (const int64_t p : own) {
            for (int64_t axis = 0; axis < n_axis; ++axis) x_.push_back(points.position(p, axis));
            cloud_.push_back(points.cloud[static_cast<size_t>(p)]);
        }
        surrogate_points given{};
        given.x = matrix(x_.data(), std::ssize(own), n_axis);
        given.global_id = own_.data();
        if (has_clouds) given.cloud = cloud_.data();
        domain_.emplace(context, given);
        set_edges(points);
        for (size_t p = 0; p < ports_.size(); ++p) {
            if (ports_[p].location == SURROGATE_COORDINATES) continue;
            const int64_t n_channel = ports_[p].n_channel;
            is_pooled_ = ports_[p].location == SURROGATE_ON_CLOUDS;
            const int64_t n_row = is_pooled_ ? domain_->n_clouds() : std::ssize(own);
            std::vector<double>& values = values_[p];
            values.resize(static_cast<size_t>(n_row * n_channel));
            for (int64_t i = 0; i < n_row && !ports_[p].is_output; ++i)
                for (int64_t c = 0; c < n_channel; ++c)
                    values[static_cast<size_t>(i * n_channel + c)] =
                        points.value(own[static_cast<size_t>(i)], static_cast<int64_t>(p), c);
            const surrogate_array array = matrix(values.data(), n_row, n_channel);
            (ports_[p].is_output ? outputs_ : inputs_).push_back({ports_[p].name, array});
        }
    }
    CloudRun(const CloudRun&) = delete;
    CloudRun& operator=(const CloudRun&) = delete;

    void run(Plan& plan) { plan.run_network(inputs_, outputs_); }
    const Domain& domain() const { return *domain_; }
    std::vector<double>& input(size_t index) {
        return values_.at(static_cast<size_t>(
            std::ranges::find(ports_, inputs_[index].name, &surrogate_port_info::name) -
            ports_.begin()));
    }

    /// Predictions by point, or by cloud with keys -1, -2, ..
    std::map<int64_t, std::vector<double>> results() const {
        std::map<int64_t, std::vector<double>> list;
        for (const auto& [port, values] : values_) {
            if (!ports_[port].is_output) continue;
            const auto n = static_cast<size_t>(ports_[port].n_channel);
            for (size_t i = 0; i * n < values.size(); ++i) {
                std::vector<double>& row =
                    list[is_pooled_ ? -1 - static_cast<int64_t>(i) : own_[i]];
                row.insert(row.end(), values.begin() + static_cast<std::ptrdiff_t>(i * n),
                           values.begin() + static_cast<std::ptrdiff_t>((i + 1) * n));
            }
        }
        return list;
    }

private:
    /// From every point to the next one of its cloud.
    void set_edges(const Points& points) {
        std::vector<int64_t> source, target;
        for (const int64_t p : own_) {
            if (p == 0 ||
                points.cloud[static_cast<size_t>(p) - 1] != points.cloud[static_cast<size_t>(p)])
                continue;
            source.insert(source.end(), {p - 1, p});
            target.insert(target.end(), {p, p - 1});
        }
        domain_->set_edges(source, target);
    }

    std::vector<int64_t> own_, cloud_;
    std::vector<double> x_;
    std::vector<surrogate_port_info> ports_;
    std::optional<Domain> domain_;
    bool is_pooled_ = false;
    std::map<size_t, std::vector<double>> values_;  // by port
    std::vector<surrogate_named_array> inputs_, outputs_;
};

/// Predictions of plans of each cloud alone, in a context of one rank.
std::map<int64_t, std::vector<double>> computed_one_by_one(const std::string& path,
                                                           const Points& points, const Sizes& sizes,
                                                           const Options& options) {
    const Context self;
    const Model model(self, path);
    std::map<int64_t, std::vector<double>> all;
    for (int64_t c = 0; c < std::ssize(sizes); ++c) {
        if (sizes[static_cast<size_t>(c)] == 0) continue;
        CloudRun alone(self, model, points, points_of(points, c), false);
        Plan plan(model, alone.domain(), options);
        alone.run(plan);
        for (const auto& [key, row] : alone.results()) all[key < 0 ? -1 - c : key] = row;
    }
    return all;
}

void expect_same(const std::map<int64_t, std::vector<double>>& found,
                 const std::map<int64_t, std::vector<double>>& expected, double tolerance) {
    double largest = 0;
    for (const auto& [key, row] : expected)
        for (const double value : row) largest = std::max(largest, std::abs(value));
    for (const auto& [key, row] : found) {
        const auto same = expected.find(key);
        if (same == expected.end()) {  // of an empty cloud
            EXPECT_LT(key, 0);
            EXPECT_TRUE(std::ranges::all_of(row, [](double value) { return value == 0; }));
            continue;
        }
        ASSERT_EQ(row.size(), same->second.size());
        for (size_t c = 0; c < row.size(); ++c) {
            if (tolerance == 0) {
                ASSERT_EQ(row[c], same->second[c]) << key;
            } else {
                ASSERT_NEAR(row[c], same->second[c], tolerance * largest) << key;
            }
        }
    }
}

bool keeps_clouds(const std::string& path) {
    return Model(Context(), path).input_domain().keeps_clouds != 0;
}

class ManyClouds : public testing::TestWithParam<Tested> {
protected:
    void expect_as_one_by_one(Sizes sizes, const std::vector<std::string>& partitions) {
        const auto& [family, network] = GetParam();
        // One point has no virtual nodes, whose mean is then no number.
        if (network->name == "MeanOfVirtual") std::ranges::replace(sizes, 1, 3);
        const auto file = network->file();
        if (!keeps_clouds(*file)) GTEST_SKIP() << "works on one cloud";
        const Points points(sizes);
        const Context context = mpi_context(world);
        const Model model(context, *file);
        for (const Mode& mode : family->modes) {
            const Options options = options_of(mode.options, {{"threads", "2"}});
            const auto expected = computed_one_by_one(*file, points, sizes, options);
            for (const std::string& partition : partitions) {
                // Bits need all of them, roundings one.
                if (mode.tolerance > 0 && partition != partitions.front()) continue;
                SCOPED_TRACE(mode.name + " " + partition);
                CloudRun many(context, model, points,
                              points_of_rank(points, partition, context.rank(), context.size()),
                              true);
                Plan plan(model, many.domain(), options);
                many.run(plan);
                expect_same(many.results(), expected, mode.tolerance);
                many.run(plan);
                expect_same(many.results(), expected, mode.tolerance);
            }
        }
    }
};

TEST_P(ManyClouds, AreWhatEachIsAlone) {
    expect_as_one_by_one(many_sizes, {"scattered", "whole", "cut", "last"});
}

INSTANTIATE_TEST_SUITE_P(Networks, ManyClouds, testing::ValuesIn(tested_networks([](const auto& n) {
                             return !n.is_divided && n.n_point >= 30 && n.n_point <= 150;
                         })),
                         name_of_tested);

using LargeClouds = ManyClouds;

/// One of them has more points than the share of a rank: all ranks compute it.
TEST_P(LargeClouds, AreWhatEachIsAlone) {
    expect_as_one_by_one({30, 1100, 4, 12}, {"scattered", "cut"});
}

INSTANTIATE_TEST_SUITE_P(Networks, LargeClouds, testing::ValuesIn(tested_networks(is_small)),
                         name_of_tested);

TEST(EdgesOfClouds, AreInsideThem) {
    const Context context = mpi_context(world);
    const auto erwin = tested_networks([](const auto& n) { return n.name == "OneLevel"; });
    ASSERT_EQ(erwin.size(), 1);
    const Model model(context, *erwin.front().network->file());
    const Points points({8, 8});
    const CloudRun two(context, model, points,
                       points_of_rank(points, "cut", context.rank(), context.size()), true);
    surrogate_domain* const domain = two.domain().get();
    const int64_t source = 7, target = 8, n = context.rank() == 0 ? 1 : 0;
    ASSERT_EQ(surrogate_domain_set_edges(domain, n, &source, &target), SURROGATE_SUCCESS);
    surrogate_plan* plan = nullptr;
    const Answer found =
        answer(surrogate_plan_create(model.get(), domain, nullptr, nullptr, &plan));
    EXPECT_EQ(found.status, SURROGATE_INVALID_ARGUMENT);
    EXPECT_TRUE(found.says("ids 7 and 8 of different clouds")) << found;
    EXPECT_EQ(found.text, answer_of_rank_0(found, world).text);
}

using BadClouds = ManyClouds;

TEST_P(BadClouds, AreErrorsOfAllRanks) {
    const auto file = GetParam().network->file();
    if (!keeps_clouds(*file)) GTEST_SKIP() << "works on one cloud";
    const Points points(many_sizes);
    const Context context = mpi_context(world);
    const Model model(context, *file);
    const std::vector<int64_t> own =
        points_of_rank(points, "scattered", context.rank(), context.size());
    CloudRun many(context, model, points, own, true);
    Plan plan(model, many.domain(), Options{{"agree", "true"}});
    many.run(plan);
    const auto good = many.results();
    const bool has_it = context.rank() == context.size() - 1;
    double& value = many.input(0).back();
    const double kept = value;
    if (has_it) value = NAN;
    try {
        many.run(plan);
        ADD_FAILURE() << "no error";
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), SURROGATE_NOT_FINITE);
        const std::string text = error.what();
        const auto last = points_of_rank(points, "scattered", context.size() - 1, context.size());
        EXPECT_NE(text.find("point with id " + std::to_string(last.back())), std::string::npos)
            << text;
    }
    for (const auto& [key, row] : many.results()) EXPECT_TRUE(std::isnan(row.front()));
    value = kept;
    many.run(plan);
    EXPECT_EQ(many.results(), good);
}

INSTANTIATE_TEST_SUITE_P(Networks, BadClouds, testing::ValuesIn(tested_networks(is_small)),
                         name_of_tested);

// ---- gradients ----

/// Gradients of sum_i sin(i) y_i with respect to weights and inputs.
struct Gradients {
    std::vector<double> weights;
    std::map<int64_t, std::vector<double>> inputs;  // by point
};

/// Adds the gradients of one program, on the points of `own`.
class GradientOfClouds {
public:
    GradientOfClouds(const Model& model, const Domain& domain, bool by_cloud)
        : network_(model.get()->model->network()),
          points_(dynamic_cast<const impl::PointDomain&>(*domain.get()->domain)),
          n_axis_(impl::n_coordinate_of(network_.inputs())),
          n_in_(impl::n_channel_of(network_.inputs()) - n_axis_),
          n_out_(impl::n_channel_of(network_.outputs())) {
        for (int64_t axis = 0; axis < n_axis_; ++axis)
            coordinates_.push_back({const_cast<double*>(points_.coordinate(static_cast<int>(axis))),
                                    1, true, 0, 1, false, true});
        impl::PlanRequest request{
            points_, points_,
            kernels::Queue(kernels::Backend::simd, kernels::best_vector_level(), 2)};
        request.reproducible = true;
        request.gradients = true;
        request.coordinates = coordinates_;
        program_ = by_cloud ? impl::make_clouds_gradient_program(network_, request)
                            : network_.gradient_program(request);
        program_->connect();
    }

    void add(const std::vector<int64_t>& own, impl::GradientSums& sums, Gradients& to) {
        std::vector<double> x, dy, dx;
        for (const int64_t p : own)
            for (int64_t c = 0; c < n_in_; ++c) x.push_back(Points::value(p, 0, c));
        dx.resize(x.size());
        for (const int64_t p : own)
            for (int64_t c = 0; c < n_out_; ++c)
                dy.push_back(static_cast<float>(std::sin(static_cast<double>(p * n_out_ + c))));
        std::vector<impl::Column> inputs = coordinates_;
        for (const impl::Column& column : columns(x, n_in_)) inputs.push_back(column);
        impl::OutsideCounts outside(2, std::ssize(inputs));
        const bool is_read = program_->gather(inputs, outside).column < 0;
        EXPECT_TRUE(program_->evaluate(is_read));
        EXPECT_TRUE(program_->backward(columns(dy, n_out_), columns(dx, n_in_), true, sums));
        for (size_t i = 0; i < own.size() && n_in_ > 0; ++i) {
            const auto first = dx.begin() + static_cast<std::ptrdiff_t>(i) * n_in_;
            to.inputs[own[i]] = std::vector<double>(first, first + n_in_);
        }
    }

private:
    static std::vector<impl::Column> columns(std::vector<double>& values, int64_t n) {
        std::vector<impl::Column> list;
        for (int64_t c = 0; c < n; ++c) list.push_back({values.data() + c, n, true});
        return list;
    }

    const impl::Network& network_;
    const impl::PointDomain& points_;
    int64_t n_axis_, n_in_, n_out_;
    std::vector<impl::Column> coordinates_;
    std::unique_ptr<impl::GradientProgram> program_;
};

std::vector<double> total(impl::GradientSums& sums, impl::Communicator& comm) {
    EXPECT_TRUE(sums.reduce(comm));
    return {sums.total().begin(), sums.total().end()};
}

using CloudGradients = ManyClouds;

TEST_P(CloudGradients, AreTheSumOfThoseOfEach) {
    const auto file = GetParam().network->file();
    if (!keeps_clouds(*file)) GTEST_SKIP() << "works on one cloud";
    if (GetParam().family->name == "Erwin") GTEST_SKIP() << "needs edges";
    const Points points(many_sizes);
    const Context self;
    const Model alone(self, *file);
    if (alone.ports().back().location == SURROGATE_ON_CLOUDS) GTEST_SKIP() << "pooled";
    Gradients expected;
    {
        impl::GradientSums sums(*alone.get()->model->weights(), 2, impl::GradientOrder::exact);
        for (int64_t c = 0; c < std::ssize(many_sizes); ++c) {
            const std::vector<int64_t> own = points_of(points, c);
            if (own.empty()) continue;
            const CloudRun run(self, alone, points, own, false);
            GradientOfClouds(alone, run.domain(), false).add(own, sums, expected);
        }
        expected.weights = total(sums, alone.get()->model->context().comm());
    }
    const Context context = mpi_context(world);
    const Model model(context, *file);
    for (const std::string partition : {"whole", "scattered", "last"}) {
        SCOPED_TRACE(partition);
        const std::vector<int64_t> own =
            points_of_rank(points, partition, context.rank(), context.size());
        const CloudRun run(context, model, points, own, true);
        impl::GradientSums sums(*model.get()->model->weights(), 2, impl::GradientOrder::exact);
        Gradients found;
        GradientOfClouds(model, run.domain(), true).add(own, sums, found);
        EXPECT_EQ(total(sums, model.get()->model->context().comm()), expected.weights);
        for (const auto& [point, row] : found.inputs) EXPECT_EQ(row, expected.inputs.at(point));
    }
}

INSTANTIATE_TEST_SUITE_P(Networks, CloudGradients, testing::ValuesIn(tested_networks(is_small)),
                         name_of_tested);

}  // namespace
}  // namespace surrogate::test
