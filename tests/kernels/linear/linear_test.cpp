// SPDX-License-Identifier: Apache-2.0
#include "kernels/linear/linear.hpp"

#include <algorithm>

#include "tests/kernels/base/tile_box.hpp"

namespace surrogate::kernels::test {
namespace {

class LinearOn : public OnTarget {};
SURROGATE_ON_ALL_TARGETS(LinearOn);

/// Random weights, the same numbers in both precisions. The weight starts off every alignment.
struct Weights {
    Weights(int64_t in, int64_t out, std::mt19937& random)
        : n_in(in), n_out(out), single(in * out + out + 1), reference(in * out + out) {
        std::normal_distribution<float> normal;
        for (int64_t i = 0; i < reference.size(); ++i)
            reference[i] = single[i + 1] = normal(random);
    }
    Linear<float> layer(bool has_bias = true) const {
        return {n_in, n_out, single.data() + 1,
                has_bias ? single.data() + 1 + n_in * n_out : nullptr};
    }
    Linear<double> layer64(bool has_bias = true) const {
        return {n_in, n_out, reference.data(),
                has_bias ? reference.data() + n_in * n_out : nullptr};
    }
    /// Largest |b| + sum |w x| + |r| over outputs and points.
    double size_of_terms(TileBox<double>& x, bool extras, TileBox<double>& r) const {
        double largest = 0;
        for (int64_t o = 0; o < n_out; ++o) {
            for (int64_t i = 0; i < x.view().shape[1]; ++i) {
                double sum =
                    extras ? std::abs(reference[n_in * n_out + o]) + std::abs(r.view()(o, i)) : 0;
                for (int64_t c = 0; c < n_in; ++c)
                    sum += std::abs(reference[o * n_in + c] * x.view()(c, i));
                largest = std::max(largest, sum);
            }
        }
        return largest;
    }
    int64_t n_in, n_out;
    Buffer<float> single;
    Buffer<double> reference;
};

TEST_P(LinearOn, GivesNumbersOfTheFormula) {
    const float weight[] = {1, 2, 3, 4, 5, 6}, bias[] = {10, 20};  // (2, 3)
    TileBox<float> x(TileBox<float>::input, 3, 2), r(TileBox<float>::input, 2, 2),
        y(TileBox<float>::output, 2, 2);
    x.fill([](int64_t c, int64_t i) { return i == 0 ? 1 : c; });
    r.fill([](int64_t o, int64_t i) { return 100 * (o + 1) + i; });
    Traps traps;
    linear<float>(queue(), {3, 2, weight, bias}, x.input_view(), {}, y.view());
    EXPECT_EQ(y.view()(0, 0), 16);
    EXPECT_EQ(y.view()(1, 0), 35);
    EXPECT_EQ(y.view()(0, 1), 18);
    EXPECT_EQ(y.view()(1, 1), 37);
    linear<float>(queue(), {3, 2, weight, nullptr}, x.input_view(), r.input_view(), y.view());
    EXPECT_EQ(y.view()(0, 0), 106);
    EXPECT_EQ(y.view()(1, 1), 218);
}

void agree_with_double(const Queue& queue, const TileCase& tile, int64_t n_in, int64_t n_out,
                       bool extras, std::mt19937& random) {
    const Weights weights(n_in, n_out, random);
    TileBox<float> x(TileBox<float>::input, n_in, tile.n_point, tile.layout);
    TileBox<float> r(TileBox<float>::input, n_out, tile.n_point, {1, 1});
    TileBox<float> y(TileBox<float>::output, n_out, tile.n_point, tile.layout);
    TileBox<double> x64(TileBox<double>::input, n_in, tile.n_point);
    TileBox<double> r64(TileBox<double>::input, n_out, tile.n_point);
    TileBox<double> y64(TileBox<double>::output, n_out, tile.n_point);
    x.fill_normal(random);
    r.fill_normal(random);
    x64.fill_from(x);
    r64.fill_from(r);
    const auto residual = extras ? r.input_view() : Tile<const float>{};
    const auto residual64 = extras ? r64.input_view() : Tile<const double>{};
    {
        Traps traps;
        linear<float>(queue, weights.layer(extras), x.input_view(), residual, y.view());
        ref::linear<double>(weights.layer64(extras), x64.input_view(), residual64, y64.view());
    }
    // Every partial sum is below the sum of sizes; its roundings add up like sqrt(n), not n.
    const double size = weights.size_of_terms(x64, extras, r64);
    expect_close<float>(y.view(), y64.view(), 2 * epsilon<float> * size);
    y.expect_kept_inside("y");
    x.expect_unchanged("x");
    r.expect_unchanged("residual");
}

TEST_P(LinearOn, AgreesWithDoubleOnAwkwardTiles) {
    auto random = generator();
    for (const TileCase& tile : tile_cases) {
        for (int64_t n_in : {1, 3, 8, 64})
            for (int64_t n_out : {1, 3, 8, 40, 64}) {
                agree_with_double(queue(), tile, n_in, n_out, true, random);
                agree_with_double(queue(), tile, n_in, n_out, false, random);
            }
    }
}

TEST_P(LinearOn, AddsOntoItsOwnResidual) {
    auto random = generator();
    const Weights weights(8, 7, random);
    TileBox<float> x(TileBox<float>::input, 8, 33), y(TileBox<float>::input, 7, 33),
        z(TileBox<float>::output, 7, 33);
    x.fill_normal(random);
    y.fill_normal(random);
    linear<float>(queue(), weights.layer(), x.input_view(), y.input_view(), z.view());
    linear<float>(queue(), weights.layer(), x.input_view(), y.input_view(), y.view());
    expect_same_bits<float>(y.view(), z.view());
}

TEST_P(LinearOn, APointDoesNotDependOnItsPlaceInTheTile) {
    auto random = generator();
    const Weights weights(64, 64, random);
    TileBox<float> all(TileBox<float>::input, 64, 65), one(TileBox<float>::input, 64, 1);
    TileBox<float> y(TileBox<float>::output, 64, 65), y1(TileBox<float>::output, 64, 1);
    all.fill_normal(random);
    linear<float>(queue(), weights.layer(), all.input_view(), {}, y.view());
    for (int64_t i : {0, 1, 8, 31, 40, 64}) {
        one.fill([&](int64_t c, int64_t) { return all.view()(c, i); });
        linear<float>(queue(), weights.layer(), one.input_view(), {}, y1.view());
        for (int64_t o = 0; o < 64; ++o) ASSERT_EQ(y1.view()(o, 0), y.view()(o, i));
    }
}

TEST_P(LinearOn, NaNStaysAtItsPoint) {
    auto random = generator();
    const Weights weights(3, 5, random);
    TileBox<float> x(TileBox<float>::input, 3, 3), y(TileBox<float>::output, 5, 3);
    x.fill([](int64_t c, int64_t i) { return c == 2 && i == 1 ? NAN : 1.0f; });
    linear<float>(queue(), weights.layer(), x.input_view(), {}, y.view());
    for (int64_t o = 0; o < 5; ++o) {
        EXPECT_TRUE(std::isnan(y.view()(o, 1)));
        EXPECT_FALSE(std::isnan(y.view()(o, 0)) || std::isnan(y.view()(o, 2)));
    }
}

TEST(LinearLevels, GiveTheSameBits) {
    auto random = generator();
    for (const TileCase& tile : tile_cases) {
        const Weights weights(40, 43, random);
        TileBox<float> x(TileBox<float>::input, 40, tile.n_point, tile.layout);
        TileBox<float> one(TileBox<float>::output, 43, tile.n_point);
        TileBox<float> y(TileBox<float>::output, 43, tile.n_point);
        x.fill_normal(random);
        simd::linear(VectorLevel::scalar, weights.layer(), x.input_view(), {}, one.view());
        for (VectorLevel level : wide_levels()) {
            simd::linear(level, weights.layer(), x.input_view(), {}, y.view());
            expect_same_bits<float>(y.view(), one.view());
        }
    }
}

}  // namespace
}  // namespace surrogate::kernels::test
