// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <surrogate/surrogate.hpp>
#include <vector>

#include "libsurrogate/src/api/handles.hpp"
#include "libsurrogate/src/model/family/gradient_program.hpp"
#include "tests/support/golden_file.hpp"
#include "tests/support/gradient_way.hpp"
#include "tests/support/memory_meter.hpp"
#include "tests/support/trap_guard.hpp"

namespace surrogate::test {

/// Inputs of a network on points besides their coordinates: an array of doubles, or words.
struct GivenInputs {
    std::vector<double> values;
    std::vector<int64_t> words;
    bool has_edges = false;
    std::vector<int64_t> sources = {}, targets = {};  ///< ids, if the domain has edges
};

/// A model on points with its gradients; `on`: the context, by default of one rank. Arrays have the
/// points of this rank.
class GradientRun {
public:
    /// dy_of(i, y): the gradient of a loss with respect to number i of the predictions.
    using Slope = std::function<double(size_t, double)>;

    GradientRun(const std::string& path, const surrogate_points& points, GivenInputs given,
                const GradientWay& way, Context on = Context())
        : context_(std::move(on)),
          model_(context_, path),
          domain_(context_, points),
          network_(model_.get()->model->network()),
          given_(std::move(given)),
          inputs_(inputs()),
          sums(*model_.get()->model->weights(), way.queue.n_thread(), way.order),
          outside_(way.queue.n_thread(), std::ssize(inputs_)),
          program(network_.gradient_program(request(way))) {
        if (given_.has_edges) domain_.set_edges(given_.sources, given_.targets);
        program->connect();
        program->set_dropout(way.draw);
        y.resize(static_cast<size_t>(n_row() * n_out()));
        dy = y;
        const int64_t n_given = std::ssize(inputs_) - std::ssize(coordinates());
        dx.resize(static_cast<size_t>(points_().n_local() * n_given));
        n_given_ = n_given;
    }

    int64_t n_out() const { return network_.outputs().front().n_channel; }
    int64_t n_given() const { return n_given_; }

    /// From the inputs to y.
    bool evaluate() { return evaluate(*program, y); }
    /// From dy to dx and sums.
    bool backward(bool alive = true) {
        return program->backward(columns_of(dy, n_out()), columns_of(dx, n_given()), alive, sums);
    }
    /// Also from dy to dpositions [n, n_axis], for families that return them.
    bool backward_to_positions(std::vector<double>& dpositions, int64_t n_axis) {
        dpositions.resize(static_cast<size_t>(points_().n_local() * n_axis));
        std::vector<impl::Column> columns = columns_of(dpositions, n_axis);
        for (const impl::Column& column : columns_of(dx, n_given_)) columns.push_back(column);
        return program->backward(columns_of(dy, n_out()), columns, true, sums);
    }
    /// All of it, under traps.
    bool run(const Slope& slope) {
        const TrapGuard traps;
        sums.clear();
        if (!evaluate()) return false;
        for (size_t i = 0; i < y.size(); ++i) dy[i] = slope(i, y[i]);
        return backward() && reduce();
    }
    bool reduce() { return sums.reduce(points_().context().comm()); }

    /// After reduce().
    std::vector<double> total() const { return {sums.total().begin(), sums.total().end()}; }
    std::vector<double> gradient(const std::string& weight) const {
        const auto* const entry = weights().find(weight);
        const double* const first = sums.total().data() + entry->first;
        return {first, first + entry->size};
    }
    impl::MasterWeights& weights() const { return *model_.get()->model->weights(); }

    /// Returns the predictions of a plan without gradients.
    std::vector<double> prediction_without_gradients(const GradientWay& way) {
        const std::unique_ptr<impl::Program> plain = network_.program(request(way));
        plain->connect();
        std::vector<double> predicted(y.size());
        EXPECT_TRUE(evaluate(*plain, predicted));
        return predicted;
    }

private:
    const impl::PointDomain& points_() const {
        return dynamic_cast<const impl::PointDomain&>(*domain_.get()->domain);
    }
    std::vector<impl::Column> coordinates() const {
        std::vector<impl::Column> columns;
        const int64_t n_axis = impl::n_coordinate_of(network_.inputs());
        for (int axis = 0; axis < n_axis; ++axis)
            columns.push_back({.data = const_cast<double*>(points_().coordinate(axis)),
                               .is_double = true,
                               .is_constant = true});
        return columns;
    }
    /// Channels of all ports.
    std::vector<impl::Column> inputs() {
        std::vector<impl::Column> columns = coordinates();
        if (!given_.words.empty())
            columns.push_back({.data = given_.words.data(), .is_double = true});
        const int64_t n_channel =
            impl::n_channel_of(network_.inputs()) - impl::n_coordinate_of(network_.inputs());
        if (given_.words.empty())
            for (const impl::Column& column : columns_of(given_.values, n_channel))
                columns.push_back(column);
        return columns;
    }
    int64_t n_row() const {
        const impl::PortPlace place = network_.outputs().front().place;
        return place == impl::PortPlace::nodes    ? program->n_node()
               : place == impl::PortPlace::clouds ? 1
                                                  : points_().n_local();
    }
    impl::PlanRequest request(const GradientWay& way) {
        coordinates_ = coordinates();
        impl::PlanRequest request{points_(), points_(), way.queue};
        request.precision = way.precision;
        request.reproducible = way.reproducible;
        request.saves_less = way.saves_less;
        request.gradients = true;
        request.coordinates = coordinates_;
        return request;
    }
    bool evaluate(impl::Program& some, std::vector<double>& to) {
        outside_.clear();
        const bool alive = some.gather(inputs_, outside_).column < 0;
        const bool is_finite = some.evaluate(alive);
        some.scatter(columns_of(to, n_out()), alive && is_finite);
        return is_finite;
    }

    const Context context_;
    const Model model_;
    Domain domain_;
    const impl::Network& network_;
    GivenInputs given_;
    int64_t n_given_ = 0;
    std::vector<impl::Column> coordinates_, inputs_;

public:
    std::vector<double> y, dy, dx;
    impl::GradientSums sums;

private:
    impl::OutsideCounts outside_;

public:
    const std::unique_ptr<impl::GradientProgram> program;
};

inline kernels::Queue simd_queue(int n_thread = 1) {
    return {kernels::Backend::simd, kernels::best_vector_level(), n_thread};
}

// ---- properties of all families that run the backward pass on one rank ----

/// make(way) makes a run of the same model and points.
using MakeRun = std::function<std::unique_ptr<GradientRun>(const GradientWay&)>;

/// d/dy of 0.5 sum y^2.
inline double half_square(size_t, double y) {
    return y;
}

/// The stored gradients of 0.5 sum y^2, check/grad/ of a golden file in single precision, relative
/// to their largest entry. Those that are 0 in truth (`zero` ends their names) have no scale of
/// their own.
inline void expect_stored_gradients(const MakeRun& make, const GoldenFile& file,
                                    const GradientWay& way, double tolerance,
                                    const std::string& zero) {
    const auto run = make(way);
    ASSERT_TRUE(run->run(half_square));
    const auto expect = [&](const std::string& name, const std::vector<double>& found) {
        const std::vector<double> expected = file.tensor(name).values;
        ASSERT_EQ(found.size(), expected.size()) << name;
        double scale = name.ends_with(zero) ? 1 : 0;
        for (const double value : expected) scale = std::max(scale, std::abs(value));
        for (size_t i = 0; i < expected.size(); ++i)
            EXPECT_LE(std::abs(found[i] - expected[i]), (tolerance + 0x1p-24) * scale)
                << name << " " << i;
    };
    int n_compared = 0;
    const std::string prefix = "check/grad/";
    for (const std::string& name : file.names()) {
        if (!name.starts_with(prefix)) continue;
        expect(name, run->gradient(name.substr(prefix.size())));
        ++n_compared;
    }
    EXPECT_GT(n_compared, 20);
    if (file.has("check/grad_input/features")) expect("check/grad_input/features", run->dx);
}

inline void expect_predictions_of_plain_plans(const MakeRun& make) {
    for (const char* precision : {"fp32", "fp64"}) {
        for (const int n_thread : {1, 3}) {
            GradientWay way{.precision = precision, .queue = simd_queue(n_thread)};
            if (way.precision == "fp64") way.queue = {};
            const auto run = make(way);
            ASSERT_TRUE(run->evaluate());
            EXPECT_EQ(run->y, run->prediction_without_gradients(way)) << precision;
        }
    }
}

/// Exact sums of reproducible plans.
inline void expect_bits_on_any_threads(const MakeRun& make) {
    std::vector<double> total, dx;
    for (const int n_thread : {1, 3}) {
        const auto run = make({.precision = "fp32",
                               .reproducible = true,
                               .queue = simd_queue(n_thread),
                               .order = impl::GradientOrder::exact});
        ASSERT_TRUE(run->run(half_square));
        if (n_thread == 1) total = run->total();
        if (n_thread == 1) dx = run->dx;
        EXPECT_EQ(run->total(), total);
        for (size_t i = 0; i < dx.size(); ++i)
            EXPECT_TRUE(run->dx[i] == dx[i] || std::isnan(dx[i])) << i;
    }
}

/// Two samples, each a chunk of the same exact sums, are the sum of both.
inline void expect_samples_add_up(const MakeRun& make) {
    const auto run = make({.order = impl::GradientOrder::exact});
    ASSERT_TRUE(run->run(half_square));
    const std::vector<double> once = run->total();
    run->sums.clear();
    for (int sample = 0; sample < 2; ++sample) {
        ASSERT_TRUE(run->evaluate());
        run->dy = run->y;
        ASSERT_TRUE(run->backward());
    }
    ASSERT_TRUE(run->reduce());
    const std::vector<double> twice = run->total();
    for (size_t i = 0; i < once.size(); ++i) EXPECT_EQ(twice[i], 2 * once[i]) << i;
}

/// The backward pass fails, and gradients of inputs are NaN.
inline void expect_failed_backward(GradientRun& run, bool alive, const char* what) {
    run.sums.clear();
    EXPECT_FALSE(run.backward(alive)) << what;
    EXPECT_FALSE(run.reduce()) << what;
    for (const double value : run.dx) EXPECT_TRUE(std::isnan(value)) << what;
}

inline void expect_bad_ranks_poison(const MakeRun& make) {
    const TrapGuard traps;
    const auto run = make({.precision = "fp32", .queue = simd_queue()});
    expect_failed_backward(*run, true, "nothing was evaluated");
    ASSERT_TRUE(run->evaluate());
    run->dy = run->y;
    expect_failed_backward(*run, false, "the rank is bad");
    ASSERT_TRUE(run->evaluate());
    run->dy.back() = std::numeric_limits<double>::quiet_NaN();
    expect_failed_backward(*run, true, "a gradient is NaN");
    EXPECT_TRUE(run->run(half_square));
    EXPECT_FALSE(run->backward()) << "one for each evaluation";
}

/// of: a run without points.
inline void expect_no_gradients(GradientRun& of) {
    ASSERT_TRUE(of.run(half_square));
    for (const double value : of.total()) EXPECT_EQ(value, 0);
}

/// of: a run with gradients of an earlier sample.
inline void expect_backward_takes_no_memory(GradientRun& of) {
    const std::vector<impl::Column> dy = columns_of(of.dy, of.n_out());
    const MemoryMeter meter;
    of.program->evaluate(true);
    of.program->backward(dy, {}, true, of.sums);
    EXPECT_EQ(meter.n_allocation(), 0);
}

inline void expect_no_memory(const MakeRun& make) {
    const auto run = make({.precision = "fp32", .queue = simd_queue()});
    ASSERT_TRUE(run->run(half_square));
    ASSERT_TRUE(run->evaluate());
    expect_backward_takes_no_memory(*run);
}

/// Runs the same with the masks of a sample.
inline MakeRun dropping(const MakeRun& make) {
    return [make](GradientWay way) {
        way.draw = impl::DropoutDraw{7, 3};
        return make(way);
    };
}

/// Gradients of weights are slopes while the masks stay; masks change predictions, differ between
/// samples, and are not applied without a sample.
inline void expect_dropout(const MakeRun& make) {
    const auto run = dropping(make)({});
    ASSERT_TRUE(run->run(half_square));
    const std::vector<double> y = run->y, total = run->total();
    impl::MasterWeights& weights = run->weights();
    const std::vector<double> center(weights.precise().begin(), weights.precise().end());
    const auto direction = [](size_t i) { return std::sin(0.7 * static_cast<double>(i)); };
    constexpr size_t n_group = 8;  // of tensors, each with a direction
    for (size_t group = 0; group < n_group; ++group) {
        std::vector<size_t> places;
        for (size_t j = group; j < weights.entries().size(); j += n_group) {
            const auto& entry = weights.entries()[j];
            for (int64_t i = entry.first; i < entry.first + entry.size; ++i)
                places.push_back(static_cast<size_t>(i));
        }
        const auto at = [&](double step) {
            for (const size_t i : places) weights.precise()[i] = center[i] + step * direction(i);
            weights.refresh();
            EXPECT_TRUE(run->evaluate());
            double sum = 0;
            for (const double value : run->y) sum += value * value / 2;
            return sum;
        };
        const double h = 1e-6, found = (at(h) - at(-h)) / (2 * h);
        at(0);
        double expected = 0, size = 0;
        for (const size_t i : places) {
            expected += total[i] * direction(i);
            size += std::abs(total[i] * direction(i));
        }
        EXPECT_NEAR(found, expected, 1e-6 * size + 1e-8) << group;
    }
    EXPECT_EQ(run->y, y);
    run->program->set_dropout(impl::DropoutDraw{7, 4});
    ASSERT_TRUE(run->evaluate());
    EXPECT_NE(run->y, y);
    run->program->set_dropout({});
    ASSERT_TRUE(run->evaluate());
    EXPECT_NE(run->y, y);
    EXPECT_EQ(run->y, run->prediction_without_gradients({}));
    expect_bits_on_any_threads(dropping(make));
    expect_no_memory(dropping(make));
}

}  // namespace surrogate::test
