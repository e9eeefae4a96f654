// SPDX-License-Identifier: Apache-2.0
#include "kernels/norm/moments_backward.hpp"

#include <cmath>
#include <vector>

#include "tests/kernels/base/tile_box.hpp"

namespace surrogate::kernels::test {
namespace {

class MomentsBackwardOn : public OnTarget {};
SURROGATE_ON_ALL_TARGETS(MomentsBackwardOn);

struct Products {
    explicit Products(size_t n_channel) : sum(n_channel, -1.0), product(n_channel, -1.0) {}
    std::vector<double> sum, product;
};

TEST_P(MomentsBackwardOn, SumsAgreeWithPlainOnesOnAwkwardTiles) {
    auto random = generator();
    for (const TileCase& tile : tile_cases) {
        TileBox<float> x(TileBox<float>::input, 3, tile.n_point, tile.layout);
        TileBox<float> dy(TileBox<float>::input, 3, tile.n_point, tile.layout);
        x.fill_normal(random, 1e6);
        dy.fill_normal(random);
        Products found(3);
        {
            Traps traps;
            channel_products<float>(queue(), x.input_view(), dy.input_view(), found.sum.data(),
                                    found.product.data());
        }
        x.expect_unchanged("x");
        dy.expect_unchanged("dy");
        for (int64_t c = 0; c < 3; ++c) {
            double sum = 0, product = 0, size = 0, sizes = 0;
            for (int64_t i = 0; i < tile.n_point; ++i) {
                const double value = x.input_view()(c, i), slope = dy.input_view()(c, i);
                sum += slope;
                size += std::abs(slope);
                product += slope * value;
                sizes += std::abs(slope * value);
            }
            const double n = static_cast<double>(tile.n_point);
            const auto at = static_cast<size_t>(c);
            EXPECT_LE(std::abs(found.sum[at] - sum), n * epsilon<double> * size);
            EXPECT_LE(std::abs(found.product[at] - product), n * epsilon<double> * sizes);
        }
    }
}

TEST_P(MomentsBackwardOn, SlopesAgreeWithTheFormulaInDouble) {
    auto random = generator();
    const ChannelSlope<float> of[] = {
        {2.0f, 1e5f, 0.3f, -0.2f}, {-0.5f, 0.0f, 7.0f, 1.0f}, {0.0f, 1.0f, 0.0f, 3.0f}};
    for (const TileCase& tile : tile_cases) {
        for (const bool accumulate : {false, true}) {
            TileBox<float> x(TileBox<float>::input, 3, tile.n_point, tile.layout);
            TileBox<float> dy(TileBox<float>::input, 3, tile.n_point, tile.layout);
            TileBox<float> dx(accumulate ? TileBox<float>::input : TileBox<float>::output, 3,
                              tile.n_point, tile.layout);
            x.fill([&](int64_t c, int64_t i) { return of[c].mean + std::sin(i); });
            dy.fill_normal(random);
            if (accumulate) dx.fill([](int64_t c, int64_t i) { return 0.25 * (c + i % 3); });
            {
                Traps traps;
                combine_slopes<float>(queue(), of, x.input_view(), dy.input_view(), accumulate,
                                      dx.view());
            }
            dx.expect_kept_inside("dx");
            for (int64_t c = 0; c < 3; ++c) {
                for (int64_t i = 0; i < tile.n_point; ++i) {
                    const double a = of[c].scale, centred = x.view()(c, i) - of[c].mean;
                    const double want = a * dy.view()(c, i) - of[c].slope * centred - of[c].shift +
                                        (accumulate ? 0.25 * static_cast<double>(c + i % 3) : 0);
                    ASSERT_NEAR(dx.view()(c, i), want, 4 * epsilon<float> * 20);
                }
            }
            if (accumulate) continue;
            combine_slopes<float>(queue(), of, x.input_view(), dy.input_view(), false, dy.view());
            expect_same_bits<float>(dy.view(), dx.view());
        }
    }
}

/// The whole norm: dx, dweight and dbias against central differences of L = sum dy y.
TEST(MomentsBackward, IsTheSlopeOfTheNorm) {
    const int64_t n = 7;
    const double eps = 1e-6, weight = 1.3, bias = -0.4;
    std::vector<double> x, dy;
    for (int64_t i = 0; i < n; ++i) {
        x.push_back(3 + std::sin(2.0 * static_cast<double>(i)));
        dy.push_back(std::cos(1.0 + static_cast<double>(i * i)));
    }
    struct Norm {
        double mean = 0, scale = 0;
    };
    const auto norm_of = [&](const std::vector<double>& values) {
        double mean = 0, square = 0;
        for (const double value : values) mean += value / n;
        for (const double value : values) square += (value - mean) * (value - mean) / n;
        return Norm{mean, 1 / std::sqrt(square + eps)};
    };
    const auto loss = [&](const std::vector<double>& values, double w, double b) {
        const Norm norm = norm_of(values);
        double sum = 0;
        for (size_t i = 0; i < values.size(); ++i)
            sum += dy[i] * ((values[i] - norm.mean) * norm.scale * w + b);
        return sum;
    };
    const int64_t step = round_up(n, lane_count);
    std::vector<double> padded_x(static_cast<size_t>(step)), padded_dy(padded_x), dx(padded_x);
    std::ranges::copy(x, padded_x.begin());
    std::ranges::copy(dy, padded_dy.begin());
    const Tile<const double> x_tile{padded_x.data(), {1, n}, {step, 1}},
        dy_tile{padded_dy.data(), {1, n}, {step, 1}};
    double sum = 0, product = 0;
    ref::channel_products<double>(x_tile, dy_tile, &sum, &product);
    const Norm norm = norm_of(x);
    const double dweight = norm.scale * (product - norm.mean * sum), scale = weight * norm.scale;
    const ChannelSlope<double> slope{scale, norm.mean, scale * norm.scale * dweight / n,
                                     scale * sum / n};
    ref::combine_slopes<double>(&slope, x_tile, dy_tile, false, {dx.data(), {1, n}, {step, 1}});
    const double h = 1e-5;
    for (size_t i = 0; i < x.size(); ++i) {
        std::vector<double> up = x, down = x;
        up[i] += h;
        down[i] -= h;
        EXPECT_NEAR(dx[i], (loss(up, weight, bias) - loss(down, weight, bias)) / (2 * h), 1e-8);
    }
    EXPECT_NEAR(dweight, (loss(x, weight + h, bias) - loss(x, weight - h, bias)) / (2 * h), 1e-8);
    EXPECT_NEAR(sum, (loss(x, weight, bias + h) - loss(x, weight, bias - h)) / (2 * h), 1e-8);
}

TEST(MomentsBackwardLevels, GiveTheSameBits) {
    auto random = generator();
    const std::vector<ChannelSlope<float>> of(4, {0.7f, 0.1f, 0.3f, -0.2f});
    for (int64_t n_point : {1, 15, 16, 31, 64, 360, 1441}) {
        TileBox<float> x(TileBox<float>::input, 4, n_point), dy(TileBox<float>::input, 4, n_point);
        TileBox<float> one_dx(TileBox<float>::output, 4, n_point);
        x.fill_normal(random, 3);
        dy.fill_normal(random);
        Products one(4);
        simd::channel_products(VectorLevel::scalar, x.input_view(), dy.input_view(), one.sum.data(),
                               one.product.data());
        simd::combine_slopes(VectorLevel::scalar, of.data(), x.input_view(), dy.input_view(), false,
                             one_dx.view());
        for (VectorLevel level : wide_levels()) {
            Products wide(4);
            TileBox<float> dx(TileBox<float>::output, 4, n_point);
            simd::channel_products(level, x.input_view(), dy.input_view(), wide.sum.data(),
                                   wide.product.data());
            simd::combine_slopes(level, of.data(), x.input_view(), dy.input_view(), false,
                                 dx.view());
            EXPECT_EQ(one.sum, wide.sum);
            EXPECT_EQ(one.product, wide.product);
            expect_same_bits<float>(dx.view(), one_dx.view());
        }
    }
}

}  // namespace
}  // namespace surrogate::kernels::test
