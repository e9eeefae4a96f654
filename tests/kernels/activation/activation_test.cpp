// SPDX-License-Identifier: Apache-2.0
#include "kernels/activation/activation.hpp"

#include "tests/kernels/base/tile_box.hpp"

namespace surrogate::kernels::test {
namespace {

const Activation kinds[] = {Activation::identity, Activation::gelu_tanh, Activation::silu,
                            Activation::gelu, Activation::tanh};

/// Arguments that matter: the bend, both tails, the clamps of the vector version, sizes whose
/// powers overflow.
const std::vector<float> arguments = {
    0.0f,  -0.0f,  1e-38f, 1e-20f, -1e-20f, 1e-4f,  -1e-4f, 0.5f,  -0.5f,  1.0f,
    -1.0f, 3.0f,   -3.0f,  -5.0f,  5.0f,    6.0f,   -6.0f,  6.99f, -6.99f, 7.1f,
    -7.1f, -9.99f, 9.99f,  -10.1f, 10.1f,   86.9f,  -86.9f, 88.0f, -88.0f, -104.0f,
    1e3f,  -1e3f,  1e13f,  -1e13f, 1e20f,   -1e20f, 3e38f,  -3e38f};

class ActivationOn : public OnTarget {};
SURROGATE_ON_ALL_TARGETS(ActivationOn);

TEST(ActivationReference, GivesNumbersOfTheFormulas) {
    TileBox<double> x(TileBox<double>::input, 1, 2), y(TileBox<double>::output, 1, 2);
    x.fill([](int64_t, int64_t i) { return i == 0 ? 1.0 : -2.0; });
    ref::activate<double>(Activation::gelu_tanh, x.input_view(), y.view());
    EXPECT_NEAR(y.view()(0, 0), 0.8411919906082768, 1e-15);  // PyTorch, approximate="tanh"
    EXPECT_NEAR(y.view()(0, 1), -0.04540230591222, 1e-13);
    ref::activate<double>(Activation::silu, x.input_view(), y.view());
    EXPECT_NEAR(y.view()(0, 0), 0.7310585786300049, 1e-15);   // 1 / (1 + 1/e)
    EXPECT_NEAR(y.view()(0, 1), -0.2384058440442351, 1e-15);  // -2 / (1 + e^2)
    ref::activate<double>(Activation::gelu, x.input_view(), y.view());
    EXPECT_NEAR(y.view()(0, 0), 0.8413447460685429, 1e-15);    // PyTorch's default GELU
    EXPECT_NEAR(y.view()(0, 1), -0.04550026389635842, 1e-15);  // -2 P(-2)
    ref::activate<double>(Activation::tanh, x.input_view(), y.view());
    EXPECT_NEAR(y.view()(0, 0), 0.7615941559557649, 1e-15);  // (e - 1/e) / (e + 1/e)
    EXPECT_NEAR(y.view()(0, 1), -0.9640275800758169, 1e-15);
    ref::activate<double>(Activation::identity, x.input_view(), y.view());
    EXPECT_EQ(y.view()(0, 1), -2.0);
}

TEST_P(ActivationOn, StaysWithinItsBoundEverywhere) {
    const auto n = static_cast<int64_t>(arguments.size());
    TileBox<float> x(TileBox<float>::input, 1, n), y(TileBox<float>::output, 1, n);
    TileBox<double> x64(TileBox<double>::input, 1, n), y64(TileBox<double>::output, 1, n);
    x.fill([](int64_t, int64_t i) { return arguments[static_cast<size_t>(i)]; });
    x64.fill_from(x);
    for (Activation kind : kinds) {
        {
            Traps traps;
            activate<float>(queue(), kind, x.input_view(), y.view());
            ref::activate<double>(kind, x64.input_view(), y64.view());
        }
        for (int64_t i = 0; i < n; ++i) {
            const double u = x64.view()(0, i), want = y64.view()(0, i), got = y.view()(0, i);
            EXPECT_LE(std::abs(got - want), 1e-6 * std::max(std::abs(u), std::abs(want)))
                << "kind " << static_cast<int>(kind) << ", u = " << u << ": got " << got
                << ", expected " << want;
        }
    }
}

TEST_P(ActivationOn, AgreesWithDoubleOnAwkwardTilesAndInPlace) {
    auto random = generator();
    for (const TileCase& tile : tile_cases) {
        for (Activation kind : kinds) {
            TileBox<float> x(TileBox<float>::input, 3, tile.n_point, tile.layout);
            TileBox<float> y(TileBox<float>::output, 3, tile.n_point, tile.layout);
            TileBox<double> x64(TileBox<double>::input, 3, tile.n_point);
            x.fill_normal(random, 4);
            x64.fill_from(x);
            {
                Traps traps;
                activate<float>(queue(), kind, x.input_view(), y.view());
                ref::activate<double>(kind, x64.input_view(), x64.view());
            }
            expect_close<float>(y.view(), x64.view(), 8 * epsilon<float> * 16);
            y.expect_kept_inside("y");
            x.expect_unchanged("x");
            activate<float>(queue(), kind, x.input_view(), x.view());
            expect_same_bits<float>(x.view(), y.view());
        }
    }
}

TEST_P(ActivationOn, KeepsAllDigitsOfTanh) {
    std::vector<float> list;
    for (float u = 1e-37f; u < 12; u *= 1.003f) list.push_back(list.size() % 2 ? u : -u);
    const auto n = static_cast<int64_t>(list.size());
    TileBox<float> x(TileBox<float>::input, 1, n), y(TileBox<float>::output, 1, n);
    x.fill([&](int64_t, int64_t i) { return list[static_cast<size_t>(i)]; });
    {
        Traps traps;
        activate<float>(queue(), Activation::tanh, x.input_view(), y.view());
    }
    for (int64_t i = 0; i < n; ++i) {
        const double want = std::tanh(static_cast<double>(x.view()(0, i)));
        ASSERT_LE(std::abs(y.view()(0, i) - want), 4 * epsilon<float> * std::abs(want))
            << "u = " << x.view()(0, i);
        ASSERT_LE(std::abs(y.view()(0, i)), 1) << "u = " << x.view()(0, i);
    }
}

TEST_P(ActivationOn, LetsNaNThrough) {
    TileBox<float> x(TileBox<float>::input, 1, 3), y(TileBox<float>::output, 1, 3);
    x.fill([](int64_t, int64_t i) { return i == 1 ? NAN : 1.0f; });
    for (Activation kind : kinds) {
        activate<float>(queue(), kind, x.input_view(), y.view());
        EXPECT_TRUE(std::isnan(y.view()(0, 1)));
        EXPECT_FALSE(std::isnan(y.view()(0, 0)) || std::isnan(y.view()(0, 2)));
    }
}

TEST(ActivationLevels, GiveTheSameBits) {
    const int64_t n = 20000;
    TileBox<float> x(TileBox<float>::input, 1, n), one(TileBox<float>::output, 1, n),
        y(TileBox<float>::output, 1, n);
    auto random = generator();
    x.fill_normal(random, 20);
    for (Activation kind : kinds) {
        simd::activate(VectorLevel::scalar, kind, x.input_view(), one.view());
        for (VectorLevel level : wide_levels()) {
            simd::activate(level, kind, x.input_view(), y.view());
            expect_same_bits<float>(y.view(), one.view());
        }
    }
}

}  // namespace
}  // namespace surrogate::kernels::test
