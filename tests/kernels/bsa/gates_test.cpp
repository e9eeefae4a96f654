// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>

#include "kernels/bsa/bsa.hpp"
#include "tests/kernels/base/slope.hpp"
#include "tests/kernels/base/tile_box.hpp"
#include "tests/support/golden_file.hpp"
#include "tests/support/refusal.hpp"

namespace surrogate::kernels::bsa::test {
namespace {

using namespace surrogate::kernels::test;

class GatesOn : public OnTarget {};
SURROGATE_ON_ALL_TARGETS(GatesOn);

double sigmoid(double u) {
    return 1 / (1 + std::exp(-u));
}

/// Gates of some heads and branches, and what they are for.
template <class T>
struct Gates {
    Gates(int64_t heads, int64_t dim, size_t n_branch, const TileCase& tile)
        : n_head(heads),
          n_dim(dim),
          gate(TileBox<T>::input, heads * static_cast<int64_t>(n_branch), tile.n_point,
               tile.layout),
          dy(TileBox<T>::input, heads * dim, tile.n_point, tile.layout),
          y(TileBox<T>::output, heads * dim, tile.n_point, tile.layout),
          dgate(TileBox<T>::output, heads * static_cast<int64_t>(n_branch), tile.n_point,
                tile.layout) {
        for (size_t b = 0; b < n_branch; ++b) {
            branch.emplace_back(TileBox<T>::input, heads * dim, tile.n_point, tile.layout);
            dbranch.emplace_back(TileBox<T>::output, heads * dim, tile.n_point, tile.layout);
        }
    }
    void fill_normal(std::mt19937& random) {
        gate.fill_normal(random, 3);
        dy.fill_normal(random);
        for (TileBox<T>& x : branch) x.fill_normal(random);
    }
    template <class U>
    void fill_from(const Gates<U>& other) {
        gate.fill_from(other.gate);
        dy.fill_from(other.dy);
        for (size_t b = 0; b < branch.size(); ++b) branch[b].fill_from(other.branch[b]);
    }

    std::vector<Tile<const T>> branches() const {
        std::vector<Tile<const T>> list;
        for (const TileBox<T>& x : branch) list.push_back(x.input_view());
        return list;
    }
    void run(const Queue& queue) {
        const auto list = branches();
        Traps traps;
        combine<T>(queue, n_head, gate.input_view(), list, y.view());
    }
    void run_backward(const Queue& queue) {
        const auto list = branches();
        std::vector<Tile<T>> to;
        for (TileBox<T>& x : dbranch) to.push_back(x.view());
        Traps traps;
        combine_backward<T>(queue, n_head, gate.input_view(), list, dy.input_view(), to,
                            dgate.view());
    }

    int64_t n_head, n_dim;
    TileBox<T> gate, dy, y, dgate;
    std::vector<TileBox<T>> branch, dbranch;
};

struct GatesCase {
    int64_t n_head, n_dim;
    size_t n_branch;
};
const std::vector<GatesCase> gates_cases = {{8, 8, 3}, {1, 1, 1}, {3, 5, 2}, {2, 16, 4}};

TEST_P(GatesOn, AgreeWithTheFormulaInDouble) {
    auto random = generator();
    for (const auto& [n_head, n_dim, n_branch] : gates_cases) {
        for (const TileCase& tile : tile_cases) {
            Gates<float> p(n_head, n_dim, n_branch, tile);
            p.fill_normal(random);
            p.run(queue());
            p.y.expect_kept_inside("y");
            p.gate.expect_unchanged("gate");
            TileBox<double> want(TileBox<double>::output, n_head * n_dim, tile.n_point);
            want.fill([&, n_dim = n_dim, n_branch = n_branch](int64_t c, int64_t i) {
                double sum = 0;
                for (size_t b = 0; b < n_branch; ++b) {
                    const auto row = c / n_dim * static_cast<int64_t>(n_branch);
                    sum += sigmoid(p.gate.input_view()(row + static_cast<int64_t>(b), i)) *
                           p.branch[b].input_view()(c, i);
                }
                return sum;
            });
            expect_close<float>(p.y.view(), want.view(), 8 * epsilon<float> * 5);
        }
    }
}

TEST_P(GatesOn, KeepTheDigitsOfTheSigmoidEverywhere) {
    Gates<float> p(1, 1, 1, {1601, {}});
    p.gate.fill([](int64_t, int64_t i) { return 0.1 * static_cast<double>(i - 800); });
    p.branch[0].fill([](int64_t, int64_t) { return 1; });
    p.dy.fill([](int64_t, int64_t) { return 1; });
    p.run(queue());
    p.run_backward(queue());
    for (int64_t i = 0; i < 1601; ++i) {
        const double u = p.gate.input_view()(0, i), want = sigmoid(u), slope = want * sigmoid(-u);
        ASSERT_NEAR(p.y.view()(0, i), want, 1e-6 * want) << u;
        ASSERT_NEAR(p.dgate.view()(0, i), slope, 2e-6 * slope) << u;
    }
}

TEST_P(GatesOn, AreShutAndOpenAtTheEndsOfTheNumbers) {
    Gates<float> p(1, 1, 1, {4, {}});
    const float infinity = std::numeric_limits<float>::infinity();
    const float ends[] = {-infinity, -1e38f, 1e38f, infinity};
    p.gate.fill([&](int64_t, int64_t i) { return ends[i]; });
    p.branch[0].fill([](int64_t, int64_t) { return 1; });
    p.run(queue());
    for (int64_t i = 0; i < 4; ++i) EXPECT_NEAR(p.y.view()(0, i), i < 2 ? 0 : 1, 2e-38);
}

TEST_P(GatesOn, ANaNReachesItsHeadAlone) {
    Gates<float> p(2, 2, 3, {9, {}});
    auto random = generator();
    p.fill_normal(random);
    p.gate.view()(4, 7) = std::numeric_limits<float>::quiet_NaN();
    const auto list = p.branches();
    combine<float>(queue(), 2, p.gate.input_view(), list, p.y.view());
    for (int64_t c = 0; c < 4; ++c)
        for (int64_t i = 0; i < 9; ++i)
            EXPECT_EQ(std::isnan(p.y.view()(c, i)), c >= 2 && i == 7) << c << " " << i;
}

TEST_P(GatesOn, WorkInPlace) {
    Gates<float> p(2, 8, 3, {33, {1, 0}});
    auto random = generator();
    p.fill_normal(random);
    p.run(queue());
    p.run_backward(queue());
    const auto list = p.branches();
    std::vector<Tile<float>> to;
    for (TileBox<float>& x : p.branch) to.push_back(x.view());
    TileBox<float> kept(TileBox<float>::input, 16, 33, {1, 0});
    kept.fill_from(p.branch[1]);
    combine<float>(queue(), 2, p.gate.input_view(), list, p.branch[1].view());
    expect_same_bits<float>(p.branch[1].view(), p.y.view());
    p.branch[1].fill_from(kept);
    combine_backward<float>(queue(), 2, p.gate.input_view(), list, p.dy.input_view(), to,
                            p.gate.view());
    expect_same_bits<float>(p.gate.view(), p.dgate.view());
    for (size_t b = 0; b < 3; ++b) expect_same_bits<float>(p.branch[b].view(), p.dbranch[b].view());
}

TEST_P(GatesOn, BackwardAgreesWithTheReferenceInDouble) {
    auto random = generator();
    for (const auto& [n_head, n_dim, n_branch] : gates_cases) {
        for (const TileCase& tile : tile_cases) {
            Gates<float> got(n_head, n_dim, n_branch, tile);
            Gates<double> want(n_head, n_dim, n_branch, tile);
            got.fill_normal(random);
            want.fill_from(got);
            got.run_backward(queue());
            want.run_backward(Queue());
            const double size = 8 * std::sqrt(static_cast<double>(n_dim));
            expect_close<float>(got.dgate.view(), want.dgate.view(), 4 * epsilon<float> * size);
            for (size_t b = 0; b < n_branch; ++b) {
                got.dbranch[b].expect_kept_inside("dbranch");
                expect_close<float>(got.dbranch[b].view(), want.dbranch[b].view(),
                                    8 * epsilon<float> * 5);
            }
        }
    }
}

TEST(GatesReference, BackwardAgreesWithFiniteDifferences) {
    auto random = generator();
    for (const auto& [n_head, n_dim, n_branch] : gates_cases) {
        Gates<double> p(n_head, n_dim, n_branch, {5, {}});
        p.fill_normal(random);
        p.run_backward(Queue());
        const auto loss = [&] {
            p.run(Queue());
            return inner_product(p.dy.input_view(), p.y.view());
        };
        for (int64_t row = 0; row < p.gate.view().shape[0]; ++row)
            expect_slopes("gate", &p.gate.view()(row, 0), &p.dgate.view()(row, 0), 5, loss, 1e-10);
        for (size_t b = 0; b < n_branch; ++b)
            expect_slopes("branch", &p.branch[b].view()(0, 0), &p.dbranch[b].view()(0, 0), 5, loss,
                          1e-10);
    }
}

TEST(GatesLevels, GiveTheSameBits) {
    auto random = generator();
    for (const auto& [n_head, n_dim, n_branch] : gates_cases) {
        Gates<float> want(n_head, n_dim, n_branch, {37, {}}),
            got(n_head, n_dim, n_branch, {37, {}});
        want.fill_normal(random);
        got.fill_from(want);
        const Queue scalar(Backend::simd, VectorLevel::scalar, 1);
        want.run(scalar);
        want.run_backward(scalar);
        for (VectorLevel level : wide_levels()) {
            got.run(Queue(Backend::simd, level, 1));
            got.run_backward(Queue(Backend::simd, level, 1));
            expect_same_bits<float>(got.y.view(), want.y.view());
            expect_same_bits<float>(got.dgate.view(), want.dgate.view());
            for (size_t b = 0; b < n_branch; ++b)
                expect_same_bits<float>(got.dbranch[b].view(), want.dbranch[b].view());
        }
    }
}

TEST(Gates, NumbersOfBranchesThatAreNotBuiltAreRefused) {
    Gates<float> none(1, 1, 0, {3, {}}), many(1, 1, 5, {3, {}});
    for (Gates<float>* p : {&none, &many}) {
        const auto refused = surrogate::test::refusal([&] { p->run(Queue()); });
        EXPECT_EQ(refused.status, Status::not_supported);
        EXPECT_TRUE(refused.says("1 to 4")) << refused.text;
    }
}

/// Branches and gates of layer 0 of a golden file; expected: their sum in double.
TEST_P(GatesOn, GoldenGatesAndBranches) {
    const surrogate::test::GoldenFile golden(SURROGATE_TEST_DATA "/bsa/bsa_small_grad.safetensors");
    const auto values = golden.tensor("check/layers/0/gates");  // (heads, slots, 3)
    const int64_t n_head = values.shape[0], n_slot = values.shape[1];
    Gates<float> p(n_head, 8, 3, {n_slot, {}});
    const auto gate_at = [&](int64_t row, int64_t i) {
        return values.values[static_cast<size_t>((row / 3 * n_slot + i) * 3 + row % 3)];
    };
    p.gate.fill(
        [&](int64_t row, int64_t i) { return std::log(gate_at(row, i) / (1 - gate_at(row, i))); });
    TileBox<double> want(TileBox<double>::output, n_head * 8, n_slot);
    want.fill([](int64_t, int64_t) { return 0; });
    for (size_t b = 0; b < 3; ++b) {
        const auto x = golden.tensor(std::array{"check/layers/0/ball", "check/layers/0/compressed",
                                                "check/layers/0/selected"}[b]);
        const auto at = [&](int64_t c, int64_t i) {
            return x.values[static_cast<size_t>((c / 8 * n_slot + i) * 8 + c % 8)];
        };
        p.branch[b].fill(at);
        for (int64_t c = 0; c < n_head * 8; ++c)
            for (int64_t i = 0; i < n_slot; ++i)
                want.view()(c, i) += gate_at(c / 8 * 3 + static_cast<int64_t>(b), i) * at(c, i);
    }
    p.run(queue());
    expect_close<float>(p.y.view(), want.view(), 1e-6);
}

}  // namespace
}  // namespace surrogate::kernels::bsa::test
