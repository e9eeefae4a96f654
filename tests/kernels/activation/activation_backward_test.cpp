// SPDX-License-Identifier: Apache-2.0
#include "kernels/activation/activation.hpp"
#include "tests/kernels/base/slope.hpp"
#include "tests/kernels/base/tile_box.hpp"

namespace surrogate::kernels::test {
namespace {

const Activation smooth[] = {Activation::identity, Activation::gelu_tanh, Activation::silu,
                             Activation::gelu,     Activation::relu,      Activation::tanh};

class ActivationBackwardOn : public OnTarget {};
SURROGATE_ON_ALL_TARGETS(ActivationBackwardOn);

/// f' at one argument, by the reference in double.
double reference_slope(Activation kind, double u) {
    TileBox<double> x(TileBox<double>::input, 1, 1), dy(TileBox<double>::input, 1, 1);
    x.fill([&](int64_t, int64_t) { return u; });
    dy.fill([](int64_t, int64_t) { return 1.0; });
    Traps traps;
    ref::activate_backward<double>(kind, x.input_view(), dy.input_view(), x.view());
    return x.view()(0, 0);
}

TEST(ActivationBackwardReference, GivesNumbersOfTheFormulas) {
    EXPECT_EQ(reference_slope(Activation::identity, -3), 1);
    EXPECT_EQ(reference_slope(Activation::relu, 2), 1);
    EXPECT_EQ(reference_slope(Activation::relu, -2), 0);
    EXPECT_EQ(reference_slope(Activation::relu, 0), 0);  // as PyTorch chooses
    EXPECT_EQ(reference_slope(Activation::tanh, 0), 1);
    EXPECT_NEAR(reference_slope(Activation::tanh, -1), 0.4199743416140261, 1e-15);  // 1 / cosh(1)^2
    EXPECT_NEAR(reference_slope(Activation::tanh, 20) / (4 * std::exp(-40.0)), 1, 1e-14);
    EXPECT_LE(reference_slope(Activation::tanh, 1e30), 1e-300);
    for (Activation kind : {Activation::gelu_tanh, Activation::silu, Activation::gelu}) {
        EXPECT_EQ(reference_slope(kind, 0), 0.5);
        EXPECT_NEAR(reference_slope(kind, 1e30), 1, 1e-15);
        EXPECT_NEAR(reference_slope(kind, -1e30), 0, 1e-15);
    }
    // SiLU at 1 with s = 1 / (1 + 1/e): s + s (1 - s).
    EXPECT_NEAR(reference_slope(Activation::silu, 1), 0.9276705118714867, 1e-15);
    // GELU at 1: P(1) + p(1) of the normal distribution.
    EXPECT_NEAR(reference_slope(Activation::gelu, 1), 0.8413447460685429 + 0.2419707245191434,
                1e-15);
}

TEST(ActivationBackwardReference, AgreesWithDifferences) {
    TileBox<double> x(TileBox<double>::input, 1, 1), y(TileBox<double>::output, 1, 1);
    for (Activation kind : smooth) {
        for (double u = -12.05; u < 12; u += 0.1) {
            x.fill([&](int64_t, int64_t) { return u; });
            const double got = reference_slope(kind, u);
            const auto value = [&] {
                ref::activate<double>(kind, x.input_view(), y.view());
                return y.view()(0, 0);
            };
            expect_slopes("slope", &x.view()(0, 0), &got, 1, value, 2e-11);
        }
    }
}

/// Arguments around the bend, in both tails, at clamps, and of sizes whose powers overflow.
std::vector<float> gradient_arguments() {
    std::vector<float> list = {-0.0f, 1e-38f, -1e-38f, 1e-20f, 86.9f, -86.9f,
                               87.1f, -87.1f, 104.f,   -104.f, 1e3f,  -1e3f,
                               1e13f, -1e13f, 1e20f,   -1e20f, 3e38f, -3e38f};
    for (float u = -15; u < 15; u += 0.001f) list.push_back(u);
    return list;
}

TEST_P(ActivationBackwardOn, StaysWithinItsBoundEverywhere) {
    const std::vector<float> list = gradient_arguments();
    const auto n = static_cast<int64_t>(list.size());
    TileBox<float> x(TileBox<float>::input, 1, n), dy(TileBox<float>::input, 1, n),
        dx(TileBox<float>::output, 1, n);
    x.fill([&](int64_t, int64_t i) { return list[static_cast<size_t>(i)]; });
    dy.fill([](int64_t, int64_t i) { return i % 2 ? 1 : -1; });
    TileBox<double> x64(TileBox<double>::input, 1, n), dy64(TileBox<double>::input, 1, n),
        dx64(TileBox<double>::output, 1, n);
    x64.fill_from(x);
    dy64.fill_from(dy);
    for (Activation kind : smooth) {
        {
            Traps traps;
            activate_backward<float>(queue(), kind, x.input_view(), dy.input_view(), dx.view());
            ref::activate_backward<double>(kind, x64.input_view(), dy64.input_view(), dx64.view());
        }
        expect_close<float>(dx.view(), dx64.view(), 1e-6);
    }
}

TEST_P(ActivationBackwardOn, KeepsInsideItsTileAndWorksInPlace) {
    auto random = generator();
    for (const TileCase& tile : tile_cases) {
        for (Activation kind : smooth) {
            TileBox<float> x(TileBox<float>::input, 3, tile.n_point, tile.layout);
            TileBox<float> dy(TileBox<float>::input, 3, tile.n_point, {1, 1});
            TileBox<float> dx(TileBox<float>::output, 3, tile.n_point, tile.layout);
            x.fill_normal(random, 4);
            dy.fill_normal(random);
            {
                Traps traps;
                activate_backward<float>(queue(), kind, x.input_view(), dy.input_view(), dx.view());
            }
            dx.expect_kept_inside("dx");
            x.expect_unchanged("x");
            dy.expect_unchanged("dy");
            TileBox<float> in_place(TileBox<float>::input, 3, tile.n_point);
            in_place.fill_from(dy);
            activate_backward<float>(queue(), kind, x.input_view(), in_place.input_view(),
                                     in_place.view());
            expect_same_bits<float>(in_place.view(), dx.view());
            activate_backward<float>(queue(), kind, x.input_view(), dy.input_view(), x.view());
            expect_same_bits<float>(x.view(), dx.view());
        }
    }
}

TEST_P(ActivationBackwardOn, KeepsDigitsOfSmallSlopesOfTanh) {
    const int64_t n = 430;
    TileBox<float> x(TileBox<float>::input, 1, n), dy(TileBox<float>::input, 1, n),
        dx(TileBox<float>::output, 1, n);
    x.fill([](int64_t, int64_t i) { return (i % 2 ? 0.1 : -0.1) * static_cast<double>(i); });
    dy.fill([](int64_t, int64_t) { return 1; });
    Traps traps;
    activate_backward<float>(queue(), Activation::tanh, x.input_view(), dy.input_view(), dx.view());
    for (int64_t i = 0; i < n; ++i) {
        const double u = x.view()(0, i), want = 1 / (std::cosh(u) * std::cosh(u));
        // The exponent is rounded to single precision, like u itself.
        const double bound = (4 + 2 * std::abs(u)) * epsilon<float>;
        ASSERT_LE(std::abs(dx.view()(0, i) / want - 1), bound) << "u = " << u;
    }
}

TEST_P(ActivationBackwardOn, LetsNaNThrough) {
    TileBox<float> x(TileBox<float>::input, 1, 3), dy(TileBox<float>::input, 1, 3),
        dx(TileBox<float>::output, 1, 3);
    x.fill([](int64_t, int64_t i) { return i == 1 ? NAN : 1.0f; });
    for (Activation kind : smooth) {
        if (kind == Activation::identity) continue;  // its slope does not depend on x
        dy.fill([](int64_t, int64_t) { return 1; });
        activate_backward<float>(queue(), kind, x.input_view(), dy.input_view(), dx.view());
        EXPECT_TRUE(std::isnan(dx.view()(0, 1)));
        EXPECT_FALSE(std::isnan(dx.view()(0, 0)) || std::isnan(dx.view()(0, 2)));
    }
}

TEST(ActivationBackwardLevels, GiveTheSameBits) {
    const int64_t n = 20000;
    TileBox<float> x(TileBox<float>::input, 1, n), dy(TileBox<float>::input, 1, n),
        one(TileBox<float>::output, 1, n), dx(TileBox<float>::output, 1, n);
    auto random = generator();
    x.fill_normal(random, 6);
    dy.fill_normal(random);
    for (Activation kind : smooth) {
        simd::activate_backward(VectorLevel::scalar, kind, x.input_view(), dy.input_view(),
                                one.view());
        for (VectorLevel level : wide_levels()) {
            simd::activate_backward(level, kind, x.input_view(), dy.input_view(), dx.view());
            expect_same_bits<float>(dx.view(), one.view());
        }
    }
}

}  // namespace
}  // namespace surrogate::kernels::test
