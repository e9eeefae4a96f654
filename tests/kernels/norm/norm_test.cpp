// SPDX-License-Identifier: Apache-2.0
#include "kernels/norm/norm.hpp"

#include "tests/kernels/base/tile_box.hpp"

namespace surrogate::kernels::test {
namespace {

class NormOn : public OnTarget {};
SURROGATE_ON_ALL_TARGETS(NormOn);

/// Weights near one and small biases, the same numbers in both precisions.
struct Affine {
    explicit Affine(int64_t n_channel)
        : weight(n_channel), bias(n_channel), weight64(n_channel), bias64(n_channel) {
        for (int64_t c = 0; c < n_channel; ++c) {
            weight64[c] = weight[c] = 1 + 0.25f * std::sin(static_cast<float>(c));
            bias64[c] = bias[c] = 0.5f * std::cos(static_cast<float>(c));
        }
    }
    Norm<float> single(NormKind kind, float eps) const {
        return {kind, eps, weight.data(), kind == NormKind::layer ? bias.data() : nullptr};
    }
    Norm<double> reference(NormKind kind, float eps) const {
        return {kind, eps, weight64.data(), kind == NormKind::layer ? bias64.data() : nullptr};
    }
    Buffer<float> weight, bias;
    Buffer<double> weight64, bias64;
};

TEST_P(NormOn, GivesNumbersOfTheFormulas) {
    // One point (1, 2, 3, 6): mean 3, variance 3.5, mean square 12.5.
    const float weight[] = {1, 1, 2, 1}, bias[] = {0, 10, 0, 0};
    TileBox<float> x(TileBox<float>::input, 4, 1), y(TileBox<float>::output, 4, 1);
    x.fill([](int64_t c, int64_t) { return c == 3 ? 6 : c + 1; });
    Traps traps;
    normalise<float>(queue(), {NormKind::layer, 1e-12f, weight, bias}, x.input_view(), y.view());
    const double root = std::sqrt(3.5);
    EXPECT_NEAR(y.view()(0, 0), -2 / root, 1e-6);
    EXPECT_NEAR(y.view()(1, 0), -1 / root + 10, 1e-6);
    EXPECT_NEAR(y.view()(2, 0), 0, 1e-6);
    EXPECT_NEAR(y.view()(3, 0), 3 / root, 1e-6);
    normalise<float>(queue(), {NormKind::rms, 1e-12f, weight, nullptr}, x.input_view(), y.view());
    EXPECT_NEAR(y.view()(0, 0), 1 / std::sqrt(12.5), 1e-6);
    EXPECT_NEAR(y.view()(2, 0), 6 / std::sqrt(12.5), 1e-6);
}

TEST_P(NormOn, AgreesWithDoubleOnAwkwardTilesAndInPlace) {
    auto random = generator();
    for (const TileCase& tile : tile_cases) {
        for (int64_t n_channel : {1, 3, 8, 40, 64}) {
            for (NormKind kind : {NormKind::layer, NormKind::rms}) {
                const Affine affine(n_channel);
                TileBox<float> x(TileBox<float>::input, n_channel, tile.n_point, tile.layout);
                TileBox<float> y(TileBox<float>::output, n_channel, tile.n_point, tile.layout);
                TileBox<double> x64(TileBox<double>::input, n_channel, tile.n_point);
                x.fill_normal(random, 100);
                x64.fill_from(x);
                {
                    Traps traps;
                    normalise<float>(queue(), affine.single(kind, 1e-5f), x.input_view(), y.view());
                    ref::normalise<double>(affine.reference(kind, 1e-5f), x64.input_view(),
                                           x64.view());
                }
                // Results are of the size of sqrt(n_channel) at most; the sums have n_channel
                // terms.
                const double n = static_cast<double>(n_channel);
                expect_close<float>(y.view(), x64.view(), 4 * epsilon<float> * n);
                y.expect_kept_inside("y");
                x.expect_unchanged("x");
                normalise<float>(queue(), affine.single(kind, 1e-5f), x.input_view(), x.view());
                expect_same_bits<float>(x.view(), y.view());
            }
        }
    }
}

TEST_P(NormOn, EqualChannelsGiveTheBias) {
    const Affine affine(8);
    TileBox<float> x(TileBox<float>::input, 8, 5), y(TileBox<float>::output, 8, 5);
    x.fill([](int64_t, int64_t) { return 7.0; });
    Traps traps;
    normalise<float>(queue(), affine.single(NormKind::layer, 1e-5f), x.input_view(), y.view());
    for (int64_t c = 0; c < 8; ++c) EXPECT_EQ(y.view()(c, 4), affine.bias[c]);
}

TEST_P(NormOn, NaNStaysAtItsPoint) {
    const Affine affine(3);
    TileBox<float> x(TileBox<float>::input, 3, 3), y(TileBox<float>::output, 3, 3);
    x.fill([](int64_t c, int64_t i) { return c == 2 && i == 1 ? NAN : static_cast<float>(c + i); });
    for (NormKind kind : {NormKind::layer, NormKind::rms}) {
        normalise<float>(queue(), affine.single(kind, 1e-5f), x.input_view(), y.view());
        for (int64_t c = 0; c < 3; ++c) {
            EXPECT_TRUE(std::isnan(y.view()(c, 1)));
            EXPECT_FALSE(std::isnan(y.view()(c, 0)) || std::isnan(y.view()(c, 2)));
        }
    }
}

TEST(NormLevels, GiveTheSameBits) {
    const Affine affine(40);
    auto random = generator();
    TileBox<float> x(TileBox<float>::input, 40, 65), one(TileBox<float>::output, 40, 65),
        y(TileBox<float>::output, 40, 65);
    x.fill_normal(random, 3);
    for (NormKind kind : {NormKind::layer, NormKind::rms}) {
        const Norm<float> norm = affine.single(kind, 1e-5f);
        simd::normalise(VectorLevel::scalar, norm, x.input_view(), one.view());
        for (VectorLevel level : wide_levels()) {
            simd::normalise(level, norm, x.input_view(), y.view());
            expect_same_bits<float>(y.view(), one.view());
        }
    }
}

}  // namespace
}  // namespace surrogate::kernels::test
