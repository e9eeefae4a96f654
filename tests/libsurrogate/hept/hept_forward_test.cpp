// SPDX-License-Identifier: Apache-2.0
// The network on one rank: stored tokens of each layer and stored predictions.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/libsurrogate/hept/hept_run.hpp"
#include "tests/support/trap_guard.hpp"

namespace surrogate::test {
namespace {

using namespace surrogate::impl;
using kernels::Queue;
using kernels::Tiles;
using kernels::VectorLevel;

void expect_near(const std::vector<double>& found, const std::vector<double>& expected,
                 double tolerance) {
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i)
        EXPECT_LE(std::abs(found[i] - expected[i]), tolerance) << i;
}

/// Some order for all rows and layers: what one layer's hashes would give.
FixedOrders fixed_orders(const HeptCase& given) {
    FixedOrders orders;
    std::vector<int32_t> order;
    for (int64_t row = 0; row < given.config.n_row(); ++row) {
        const auto members = given.tokens().members(row);
        order.insert(order.end(), members.begin(), members.end());
    }
    for (int64_t l = 0; l < given.config.n_layers; ++l) {
        orders.queries.push_back(order);
        orders.keys.push_back(order);
    }
    return orders;
}

class HeptForward : public testing::TestWithParam<std::string> {
protected:
    const HeptCase given{GetParam()};
    const std::vector<double> truth = given.file.tensor("check/output64/y").values;
};

TEST_P(HeptForward, InDoubleIsTheReference) {
    const HeptRun<double> found(given, {});
    EXPECT_TRUE(found.is_finite);
    expect_near(found.predictions(), truth, 1e-11);
}

TEST_P(HeptForward, InSingleIsClose) {
    for (const Queue& queue : {Queue(), simd()})
        expect_near(HeptRun<float>(given, queue).predictions(), truth, 2e-5 * largest(truth));
}

TEST_P(HeptForward, RunsUnderTraps) {
    const TrapGuard traps;
    EXPECT_TRUE(HeptRun<float>(given, simd()).is_finite);
    EXPECT_TRUE(HeptRun<double>(given, {}).is_finite);
}

INSTANTIATE_TEST_SUITE_P(Files, HeptForward,
                         testing::Values("tiny", "odd_zero", "clouds_duplicate", "masked",
                                         "tracking_1500", "pileup_977"),
                         [](const auto& name) { return name.param; });

class HeptLayers : public HeptForward {
protected:
    /// Tokens (channels, n_own) against rows of the file; numbers of tiles that are stored in
    /// single precision have been rounded.
    void expect_tokens(const Tiles<const double>& found, const std::string& name) const {
        if (!given.file.has(name)) return;
        const std::vector<double> expected = given.file.tensor(name).values;
        for (int64_t t = 0; t < found.n_point; ++t) {
            for (int64_t c = 0; c < found.n_channel; ++c) {
                const double value = expected[static_cast<size_t>(
                    given.numbers[static_cast<size_t>(t)] * found.n_channel + c)];
                ASSERT_LE(std::abs(found(c, t) - value), 1e-11 + 0x1p-24 * std::abs(value))
                    << name << ", token " << t << ", channel " << c;
            }
        }
        ++n_compared;
    }

    /// Returns the output of attention for the tokens h of layer l.
    OwnTiles<double> attention_of(const hept::Layers<double>& layers,
                                  const Tiles<const double>& coordinates, int64_t l,
                                  const Tiles<const double>& h) const {
        const int64_t d = given.config.h_dim;
        const hept::LayerWeights<double>& weights = layers.layers[static_cast<size_t>(l)];
        hept::Attention<double> attention(given.config, {});
        attention.resize(given.tokens());
        const OwnTiles<double> u(d, h.n_point), of_head(d, h.n_point);
        OwnTiles<double> sum(d, h.n_point);
        for (int64_t tile = 0; tile < h.n_tile(); ++tile)
            kernels::normalise<double>({}, weights.norm1, h.tile(tile), u.tiles.tile(tile));
        for (int64_t head = 0; head < given.config.num_heads; ++head) {
            const auto& of = weights.heads[static_cast<size_t>(head)];
            EXPECT_TRUE(attention.augment(of.head, u.tiles, coordinates));
            attention.order(l, head);
            attention.attend();
            for (int64_t tile = 0; tile < h.n_tile(); ++tile) {
                const int64_t first = tile * kernels::tile_points * attention.shape().n_sum();
                const auto to = sum.tiles.tile(tile), from = of_head.tiles.tile(tile);
                kernels::hept::combine_tables<double>({}, attention.shape(),
                                                      attention.sums().data() + first, 0, 1, from);
                kernels::linear<double>({}, of.out, from, to, to);
            }
        }
        return sum;
    }

    mutable int n_compared = 0;
};

TEST_P(HeptLayers, HaveTheStoredTokensAndAttention) {
    std::vector<OwnTiles<double>> states;
    std::vector<Tiles<double>> kept;
    for (int64_t l = 0; l <= given.config.n_layers; ++l) {
        states.emplace_back(given.config.h_dim, given.tokens().n_own());
        kept.push_back(states.back().tiles);
    }
    HeptRun<double> found(given, {});
    found.forward.keep(kept, {});
    found.run();
    expect_tokens(kept[0], "check/layers/0/h_in");
    for (int64_t l = 0; l < given.config.n_layers; ++l) {
        const std::string layer = "check/layers/" + std::to_string(l);
        const Tiles<double>& h = kept[static_cast<size_t>(l)];
        expect_tokens(attention_of(found.layers, found.forward.coordinates(), l, h).tiles,
                      layer + "/attn");
        expect_tokens(kept[static_cast<size_t>(l + 1)], layer + "/h_out");
    }
    EXPECT_GE(n_compared, given.config.n_layers);
}

TEST_P(HeptLayers, TakeFixedOrders) {
    const FixedOrders orders = given.orders();
    const HeptRun<double> own(given, {}), fixed(given, {}, &orders);
    EXPECT_EQ(fixed.predictions(), own.predictions());
    expect_near(HeptRun<float>(given, simd(), &orders).predictions(), truth, 2e-5 * largest(truth));
    FixedOrders others = orders;
    for (std::vector<int32_t>& order : others.keys) std::ranges::reverse(order);
    EXPECT_NE(HeptRun<double>(given, {}, &others).predictions(), own.predictions());
}

TEST_P(HeptLayers, HaveTheSameBitsOnAllThreadsAndLevels) {
    const std::vector<double> bits = HeptRun<float>(given, simd()).predictions();
    EXPECT_EQ(HeptRun<float>(given, simd(2)).predictions(), bits);
    EXPECT_EQ(HeptRun<float>(given, simd(5)).predictions(), bits);
    for (const VectorLevel level : {VectorLevel::scalar, VectorLevel::avx2}) {
        if (level > kernels::best_vector_level()) continue;
        EXPECT_EQ(HeptRun<float>(given, simd(1, level)).predictions(), bits);
    }
}

INSTANTIATE_TEST_SUITE_P(Files, HeptLayers,
                         testing::Values("tiny", "odd_zero", "clouds_duplicate", "masked"),
                         [](const auto& name) { return name.param; });

/// Weights of a case that make coordinates count `exponent` e-folds more: |Q|^2 grows by its
/// exponential.
void stretch(HeptCase& given, double exponent) {
    for (int64_t l = 0; l < given.config.n_layers; ++l) {
        const MasterWeights::Entry& entry =
            *given.master->find(hept::layer_name(l) + "w_rpe.weight");
        const auto values = given.master->values().subspan(static_cast<size_t>(entry.first),
                                                           static_cast<size_t>(entry.size));
        for (float& w : values)
            w += static_cast<float>(exponent / static_cast<double>(given.config.h_dim));
    }
}

// Sums of squares near 4e6, of which differences of some units matter: coordinates times their
// scales are rounded by 2000 2^-24 each, and weights by that times a distance.
TEST(HeptNumbers, OfLargeScalesAreNearThoseInDouble) {
    const TrapGuard traps;
    HeptCase given("tracking_1500");
    stretch(given, 11);
    const FixedOrders orders = fixed_orders(given);
    const std::vector<double> truth = HeptRun<double>(given, {}, &orders).predictions();
    for (const Queue& queue : {Queue(), simd()}) {
        const std::vector<double> found = HeptRun<float>(given, queue, &orders).predictions();
        expect_near(found, truth, 1e-3 * largest(truth));
    }
}

TEST(HeptNumbers, OfTokensThatSeeNobodyAreFinite) {
    const TrapGuard traps;
    HeptCase given("odd_zero");
    stretch(given, 30);
    const HeptRun<double> truth(given, {});
    EXPECT_TRUE(truth.is_finite);
    for (const double value : truth.predictions()) EXPECT_TRUE(std::isfinite(value));
    const HeptRun<float> found(given, simd());
    EXPECT_TRUE(found.is_finite);
    expect_near(found.predictions(), truth.predictions(), 1e-4 * largest(truth.predictions()));
}

TEST(HeptNumbers, ThatAreNotFiniteAreReportedAndForgotten) {
    HeptCase given("clouds_duplicate"), far("clouds_duplicate", 0, 1e20);
    for (const Queue& queue : {Queue(), simd(2)}) {
        HeptRun<float> found(given, queue);
        const std::vector<double> good = found.predictions();
        found.set_coordinates(far);
        EXPECT_FALSE(found.run());
        for (const double value : found.predictions()) EXPECT_TRUE(std::isnan(value));
        const TrapGuard traps;
        found.set_coordinates(given);
        EXPECT_TRUE(found.run());
        EXPECT_EQ(found.predictions(), good);
    }
}

}  // namespace
}  // namespace surrogate::test
