// SPDX-License-Identifier: Apache-2.0
// Gradients of the loss sum_n (sin(0.7 n) y_n + y_n^2 / 2), compared with the stored cases, and
// with slopes of the loss where none are stored.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "libsurrogate/src/model/hept/gradient.hpp"
#include "tests/libsurrogate/hept/hept_case.hpp"
#include "tests/support/trap_guard.hpp"

namespace surrogate::test {
namespace {

using namespace surrogate::impl;
using kernels::Queue;

Queue simd(int n_thread = 1) {
    return {kernels::Backend::simd, kernels::best_vector_level(), n_thread};
}

/// Forward and backward of a case.
template <class T>
class Evaluation {
public:
    Evaluation(const HeptCase& given, const Queue& queue, const FixedOrders* orders = nullptr,
               bool saves_less = false)
        : given_(given),
          plan_(given.tokens(), orders),
          layers_(given.config, given.master),
          network_(given.config, layers_, queue, saves_less),
          x_(given.features<T>()),
          dx_(given.config.n_feature(), given.tokens().n_point()),
          dcoordinates_(given.config.coords_dim, given.tokens().n_point()),
          y_(given.config.n_out(), given.tokens().n_point()) {
        network_.resize(given.comm(), plan_);
        network_.set_coordinates(given.comm(), given.coordinates<T>().tiles);
        EXPECT_TRUE(network_.forward(given.comm(), x_.tiles, y_.tiles));
        OwnTiles<T> dy(given.config.n_out(), given.tokens().n_point());
        for_predictions([&](double wave, int64_t c, int64_t i) {
            dy(c, i) = static_cast<T>(wave + static_cast<double>(y_(c, i)));
        });
        GradientSums sums(*given.master, queue.n_thread(), GradientOrder::exact);
        network_.backward(given.comm(), x_.tiles, dy.tiles, sums, {dx_.tiles, dcoordinates_.tiles});
        EXPECT_TRUE(sums.reduce(given.comm()));
        arena.assign(sums.total().begin(), sums.total().end());
    }

    double loss() const {
        double sum = 0;
        for_predictions([&](double wave, int64_t c, int64_t i) {
            const auto y = static_cast<double>(y_(c, i));
            sum += wave * y + y * y / 2;
        });
        return sum;
    }

    std::vector<double> gradient(const std::string& name) const {
        if (name == "x") return in_the_file(dx_);
        if (name == "coords") return in_the_file(dcoordinates_);
        const MasterWeights::Entry& entry = *given_.master->find(name);
        const auto begin = arena.begin() + entry.first;
        return {begin, begin + entry.size};
    }

private:
    template <class Body>
    void for_predictions(const Body& body) const {
        const int64_t n_out = given_.config.n_out();
        for (int64_t i = 0; i < y_.tiles.n_point; ++i)
            for (int64_t c = 0; c < n_out; ++c)
                body(std::sin(0.7 * static_cast<double>(given_.row(i) * n_out + c)), c, i);
    }
    std::vector<double> in_the_file(const OwnTiles<T>& found) const {
        const int64_t n_channel = found.tiles.n_channel;
        std::vector<double> values(static_cast<size_t>(found.tiles.n_point * n_channel));
        for (int64_t i = 0; i < found.tiles.n_point; ++i)
            for (int64_t c = 0; c < n_channel; ++c)
                values[static_cast<size_t>(given_.row(i) * n_channel + c)] =
                    static_cast<double>(found(c, i));
        return values;
    }

    const HeptCase& given_;
    const FixedOrderPlan plan_;
    const hept::Layers<T> layers_;
    hept::NetworkGradient<T> network_;
    OwnTiles<T> x_, dx_, dcoordinates_, y_;

public:
    std::vector<double> arena;
};

class HeptGradient : public testing::TestWithParam<std::string> {
protected:
    /// Relative to the largest entry of each gradient. The files hold them in single precision.
    template <class T>
    void expect_stored(const Queue& queue, double tolerance) const {
        const Evaluation<T> found(given, queue);
        const std::string prefix = "check/grad/";
        int n_compared = 0;
        for (const std::string& name : given.file.names()) {
            if (!name.starts_with(prefix)) continue;
            const std::string weight = name.substr(prefix.size());
            const std::vector<double> expected = given.file.tensor(name).values;
            const std::vector<double> gradient = found.gradient(weight);
            ASSERT_EQ(gradient.size(), expected.size()) << weight;
            const double bound = tolerance * largest(expected);
            for (size_t i = 0; i < expected.size(); ++i)
                ASSERT_LE(std::abs(gradient[i] - expected[i]), bound)
                    << weight << " " << i << ": " << gradient[i] << ", stored " << expected[i];
            ++n_compared;
        }
        EXPECT_GE(n_compared, 50);
        for (const double value : found.gradient("attns.0.w_rpe.bias")) EXPECT_EQ(value, 0);
        for (const double value : found.gradient("attns.0.attn.e2lsh.alpha")) EXPECT_EQ(value, 0);
    }

    const HeptCase given{GetParam()};
};

TEST_P(HeptGradient, InDoubleIsTheReference) {
    const TrapGuard traps;
    expect_stored<double>({}, 1e-7);
}

TEST_P(HeptGradient, InSingleIsClose) {
    const TrapGuard traps;
    expect_stored<float>({}, 1e-4);
    expect_stored<float>(simd(), 1e-4);
}

TEST_P(HeptGradient, HasTheSameBitsOnAllThreads) {
    const std::vector<double> bits = Evaluation<float>(given, simd()).arena;
    EXPECT_EQ(Evaluation<float>(given, simd(3)).arena, bits);
}

TEST_P(HeptGradient, HasTheSameBitsWithLessMemory) {
    const std::vector<double> bits = Evaluation<float>(given, simd()).arena;
    EXPECT_EQ(Evaluation<float>(given, simd(), nullptr, true).arena, bits);
}

INSTANTIATE_TEST_SUITE_P(Files, HeptGradient,
                         testing::Values("tiny", "odd_zero", "clouds_duplicate", "masked"),
                         [](const auto& name) { return name.param; });

class HeptSlope : public testing::TestWithParam<std::string> {};

// Along one direction in the space of all weights, including weights whose gradients no file has.
// Weights are floats: the difference that counts is the rounded one. Shifted hashes could change
// the order of tokens, so all use the order of the center.
TEST_P(HeptSlope, OfTheLossIsItsGradient) {
    const HeptCase center(GetParam()), up(GetParam(), 1e-6f), down(GetParam(), -1e-6f);
    const FixedOrders orders = center.orders();
    const Evaluation<double> at(center, {}, &orders);
    const double found =
        Evaluation<double>(up, {}, &orders).loss() - Evaluation<double>(down, {}, &orders).loss();
    const std::span<const float> high = up.master->values(), low = down.master->values();
    double expected = 0;
    for (size_t i = 0; i < at.arena.size(); ++i)
        expected += at.arena[i] * (static_cast<double>(high[i]) - static_cast<double>(low[i]));
    EXPECT_LE(std::abs(found - expected), 1e-6 * std::abs(expected)) << found << " " << expected;
}

INSTANTIATE_TEST_SUITE_P(Files, HeptSlope, testing::Values("tiny", "masked", "odd_zero"),
                         [](const auto& name) { return name.param; });

}  // namespace
}  // namespace surrogate::test
