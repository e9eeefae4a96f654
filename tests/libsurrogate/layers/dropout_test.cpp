// SPDX-License-Identifier: Apache-2.0
// Masks of dropout: stored ones, their mean and variance, and what they depend on.
#include "libsurrogate/src/layers/dropout.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace surrogate::impl {
namespace {

using kernels::Tile;

/// Ones of (n_channel, n) through the mask of a site, as they lie in memory: a row of a channel.
std::vector<double> masked(const Dropout& dropout, const DropoutSite& site, const DropoutRows& rows,
                           int64_t n_channel, int64_t n) {
    std::vector<double> values(static_cast<size_t>(n_channel * n), 1.0);
    dropout.apply<double>(site, rows, {values.data(), {n_channel, n}, {n, 1}});
    return values;
}

Dropout dropout_of(uint64_t seed, uint64_t sample) {
    Dropout dropout;
    dropout.set(DropoutDraw{seed, sample});
    return dropout;
}

/// From a program in Python that follows the specification of HEPT, section 4.
TEST(DropoutMask, IsTheOneOfTheSpecification) {
    const Dropout dropout = dropout_of(42 + (uint64_t{7} << 32), 1001);
    const std::vector<int64_t> ids = {0, 1, 2, 60000, (int64_t{1} << 33) + 5};
    const std::string kept[2][5] = {
        {"011001111110011111111111", "111111111111111111111101", "111111111111111110011110",
         "111111111110111111110101", "101111111111111111111111"},
        {"010000010000000101001111", "110011011111011000101101", "111011110000111110011000",
         "011011101100001111100100", "000011010011001010111100"}};
    const double rates[] = {0.1, 0.5};
    for (size_t r = 0; r < 2; ++r) {
        const auto values = masked(dropout, {3, rates[r]}, DropoutRows::of(ids.data()), 24, 5);
        for (size_t i = 0; i < ids.size(); ++i) {
            for (size_t c = 0; c < 24; ++c) {
                const double expected = kept[r][i][c] == '1' ? 1 / (1 - rates[r]) : 0;
                EXPECT_EQ(values[c * 5 + i], expected) << ids[i] << " " << c;
            }
        }
    }
}

TEST(DropoutMask, HasTheMeanAndVarianceOfItsRate) {
    for (const double rate : {0.05, 0.1, 0.5, 0.9}) {
        std::vector<double> all;
        for (uint64_t sample = 0; sample < 20; ++sample) {
            const auto values =
                masked(dropout_of(3, sample), {1, rate}, DropoutRows::from(-100), 10, 200);
            all.insert(all.end(), values.begin(), values.end());
        }
        const auto n = static_cast<double>(all.size());  // 40000 numbers
        const double variance = rate / (1 - rate);
        double sum = 0, square = 0, next = 0, far = 0;
        for (size_t i = 0; i < all.size(); ++i) {
            const double own = all[i] - 1;
            sum += own;
            square += own * own;
            next += own * (all[(i + 1) % all.size()] - 1);   // another point
            far += own * (all[(i + 200) % all.size()] - 1);  // another channel or sample
        }
        const double error = 5 / std::sqrt(n);
        // The square of a number is 1 with probability `rate`, otherwise variance^2.
        const double spread = std::abs(variance * variance - 1) * std::sqrt(rate * (1 - rate));
        EXPECT_NEAR(sum / n, 0, error * std::sqrt(variance)) << rate;
        EXPECT_NEAR(square / n, variance, error * spread + 1e-12) << rate;
        EXPECT_NEAR(next / n, 0, error * variance) << rate;
        EXPECT_NEAR(far / n, 0, error * variance) << rate;
    }
}

TEST(DropoutMask, DependsOnSeedSampleAndSite) {
    const auto of = [](uint64_t seed, uint64_t sample, int64_t site) {
        return masked(dropout_of(seed, sample), {site, 0.5}, DropoutRows::from(0), 8, 16);
    };
    const auto expected = of(1, 2, 3);
    EXPECT_EQ(of(1, 2, 3), expected);
    for (const auto& other : {of(2, 2, 3), of(1, 3, 3), of(1, 2, 4), of(1, 2, 3 + 256)})
        EXPECT_NE(other, expected);
}

TEST(DropoutMask, DoesNotDependOnTiles) {
    const Dropout dropout = dropout_of(5, 6);
    const auto whole = masked(dropout, {0, 0.3}, DropoutRows::from(10), 6, 100);
    const auto part = masked(dropout, {0, 0.3}, DropoutRows::from(10 + 37), 6, 20);
    for (size_t c = 0; c < 6; ++c)
        for (size_t i = 0; i < 20; ++i) EXPECT_EQ(part[c * 20 + i], whole[c * 100 + 37 + i]);
}

TEST(DropoutMask, OfWholeChannelsIsOneRow) {
    const Dropout dropout = dropout_of(5, 6);
    const auto whole = masked(dropout, {0, 0.5}, DropoutRows::shared(), 40, 3);
    int n_kept = 0;
    for (size_t c = 0; c < 40; ++c) {
        n_kept += whole[c * 3] != 0;
        for (size_t i = 1; i < 3; ++i) EXPECT_EQ(whole[c * 3 + i], whole[c * 3]);
    }
    EXPECT_GT(n_kept, 8);
    EXPECT_LT(n_kept, 32);
}

TEST(DropoutMask, OfNoSampleOrRateZeroIsOne) {
    const std::vector<double> ones(32, 1.0);
    EXPECT_EQ(masked({}, {0, 0.5}, DropoutRows::from(0), 4, 8), ones);
    EXPECT_EQ(masked(dropout_of(1, 2), {0, 0}, DropoutRows::from(0), 4, 8), ones);
    EXPECT_FALSE(Dropout().drops(0.5));
    EXPECT_FALSE(dropout_of(1, 2).drops(0));
    EXPECT_EQ(Dropout().branch({0, 0.5}), 1);
    Dropout dropout = dropout_of(1, 2);
    EXPECT_TRUE(dropout.drops(0.5));
    dropout.set({});
    EXPECT_FALSE(dropout.drops(0.5));
}

TEST(DropoutMask, IsAddedToWhatIsThere) {
    const Dropout dropout = dropout_of(5, 6);
    std::vector<float> from = {1, 2, 3, 4}, to = {10, 20, 30, 40}, mask = {1, 1, 1, 1};
    const DropoutSite site{2, 0.5};
    const auto tile = [](std::vector<float>& x) { return Tile<float>{x.data(), {2, 2}, {2, 1}}; };
    dropout.apply<float>(site, DropoutRows::from(4), tile(mask));
    dropout.apply<float>(site, DropoutRows::from(4), tile(from), true, tile(to));
    for (size_t i = 0; i < 4; ++i)
        EXPECT_EQ(to[i], 10 * static_cast<float>(i + 1) + mask[i] * from[i]);
}

TEST(DropPath, KeepsABranchWithItsProbability) {
    for (const double rate : {0.1, 0.6}) {
        int n_kept = 0;
        constexpr int n = 20000;
        for (uint64_t sample = 0; sample < n; ++sample) {
            const double factor = dropout_of(9, sample).branch({7, rate});
            EXPECT_TRUE(factor == 0 || factor == 1 / (1 - rate));
            n_kept += factor != 0;
        }
        EXPECT_NEAR(n_kept / static_cast<double>(n), 1 - rate,
                    5 * std::sqrt(rate * (1 - rate) / n));
    }
}

}  // namespace
}  // namespace surrogate::impl
