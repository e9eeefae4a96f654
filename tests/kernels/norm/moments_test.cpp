// SPDX-License-Identifier: Apache-2.0
#include "kernels/norm/moments.hpp"

#include <cmath>

#include "tests/kernels/base/tile_box.hpp"

namespace surrogate::kernels::test {
namespace {

class MomentsOn : public OnTarget {};
SURROGATE_ON_ALL_TARGETS(MomentsOn);

struct Moments {
    explicit Moments(int64_t n_channel) : sum(n_channel), square(n_channel) {
        for (double* x : {sum.data(), square.data()}) std::fill_n(x, n_channel, -1.0);
    }
    Buffer<double> sum, square;
};

TEST_P(MomentsOn, GivesSumsOfSmallNumbers) {
    TileBox<float> x(TileBox<float>::input, 2, 3);
    x.fill([](int64_t c, int64_t i) { return c == 0 ? i + 1 : -2 * i; });
    Moments moments(2);
    Traps traps;
    channel_moments<float>(queue(), x.input_view(), moments.sum.data(), moments.square.data());
    EXPECT_EQ(moments.sum[0], 6);
    EXPECT_EQ(moments.square[0], 14);
    EXPECT_EQ(moments.sum[1], -6);
    EXPECT_EQ(moments.square[1], 20);
}

TEST_P(MomentsOn, AgreesWithPlainSumsOnAwkwardTiles) {
    auto random = generator();
    for (const TileCase& tile : tile_cases) {
        TileBox<float> x(TileBox<float>::input, 3, tile.n_point, tile.layout);
        x.fill_normal(random, 1e6);
        Moments moments(3);
        {
            Traps traps;
            channel_moments<float>(queue(), x.input_view(), moments.sum.data(),
                                   moments.square.data());
        }
        x.expect_unchanged("x");
        for (int64_t c = 0; c < 3; ++c) {
            double sum = 0, square = 0, size = 0;
            for (int64_t i = 0; i < tile.n_point; ++i) {
                const double value = x.input_view()(c, i);
                sum += value;
                size += std::abs(value);
                square += value * value;
            }
            const double n = static_cast<double>(tile.n_point);
            EXPECT_LE(std::abs(moments.sum[c] - sum), n * epsilon<double> * size);
            EXPECT_LE(std::abs(moments.square[c] - square), n * epsilon<double> * square);
        }
    }
}

TEST_P(MomentsOn, DoesNotDependOnOtherChannelsOrMemory) {
    auto random = generator();
    TileBox<float> x(TileBox<float>::input, 5, 77, {1, 3}), alone(TileBox<float>::input, 1, 77);
    x.fill_normal(random);
    alone.fill([&](int64_t, int64_t i) { return x.input_view()(3, i); });
    Moments all(5), one(1);
    channel_moments<float>(queue(), x.input_view(), all.sum.data(), all.square.data());
    channel_moments<float>(queue(), alone.input_view(), one.sum.data(), one.square.data());
    EXPECT_EQ(all.sum[3], one.sum[0]);
    EXPECT_EQ(all.square[3], one.square[0]);
}

TEST_P(MomentsOn, LetsNaNThroughInItsChannel) {
    TileBox<float> x(TileBox<float>::input, 2, 40);
    x.fill([](int64_t c, int64_t i) { return c == 1 && i == 37 ? NAN : 1.0f; });
    Moments moments(2);
    channel_moments<float>(queue(), x.input_view(), moments.sum.data(), moments.square.data());
    EXPECT_EQ(moments.sum[0], 40);
    EXPECT_TRUE(std::isnan(moments.sum[1]));
    EXPECT_TRUE(std::isnan(moments.square[1]));
}

TEST_P(MomentsOn, ScaleShiftRoundsOnceAndWorksInPlace) {
    auto random = generator();
    const float scale[] = {1.0f / 3, -7e8f, 0.0f}, shift[] = {1.0f, 1e-3f, -2.5f};
    for (const TileCase& tile : tile_cases) {
        TileBox<float> x(TileBox<float>::input, 3, tile.n_point, tile.layout);
        TileBox<float> y(TileBox<float>::output, 3, tile.n_point, tile.layout);
        x.fill_normal(random);
        {
            Traps traps;
            scale_shift<float>(queue(), scale, shift, x.input_view(), y.view());
        }
        for (int64_t c = 0; c < 3; ++c)
            for (int64_t i = 0; i < tile.n_point; ++i)
                ASSERT_EQ(y.view()(c, i), std::fma(x.view()(c, i), scale[c], shift[c]));
        y.expect_kept_inside("y");
        scale_shift<float>(queue(), scale, shift, x.input_view(), x.view());
        expect_same_bits<float>(x.view(), y.view());
    }
}

TEST(MomentsLevels, GiveTheSameBits) {
    auto random = generator();
    for (int64_t n_point : {1, 15, 16, 31, 64, 360, 1441}) {
        TileBox<float> x(TileBox<float>::input, 4, n_point);
        x.fill_normal(random, 3);
        Moments one(4), wide(4);
        simd::channel_moments(VectorLevel::scalar, x.input_view(), one.sum.data(),
                              one.square.data());
        for (VectorLevel level : wide_levels()) {
            simd::channel_moments(level, x.input_view(), wide.sum.data(), wide.square.data());
            for (int64_t c = 0; c < 4; ++c) {
                EXPECT_EQ(one.sum[c], wide.sum[c]);
                EXPECT_EQ(one.square[c], wide.square[c]);
            }
        }
    }
}

}  // namespace
}  // namespace surrogate::kernels::test
