// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <tuple>
#include <vector>

#include "kernels/bsa/bsa.hpp"
#include "tests/kernels/base/slope.hpp"
#include "tests/kernels/base/tile_box.hpp"

namespace surrogate::kernels::bsa::test {
namespace {

using namespace surrogate::kernels::test;

class BlocksOn : public OnTarget {};
SURROGATE_ON_ALL_TARGETS(BlocksOn);

/// Slots in tiles, with memory of their own.
template <class T>
struct Slots {
    Slots(int64_t n_channel, int64_t n_slot, int64_t n_column)
        : data((n_slot + n_column - 1) / n_column * n_channel * round_up(n_column, lane_count)),
          tiles{data.data(), n_channel, n_slot, n_column, round_up(n_column, lane_count)} {}
    void fill_normal(std::mt19937& random) {
        std::normal_distribution<float> normal;
        for (T& x : data) x = static_cast<T>(normal(random));
    }
    Buffer<T> data;
    Tiles<T> tiles;
};

/// Sizes: channels, slots in a tile, slots in a block, first block, blocks.
const std::vector<std::tuple<int64_t, int64_t, int64_t, int64_t, int64_t>> block_cases = {
    {16, 64, 8, 0, 32},  // as published
    {6, 64, 8, 5, 19},   // from the middle of a tile on
    {4, 64, 1, 3, 70},   // blocks of one slot
    {4, 64, 128, 1, 2},  // blocks of two tiles
    {2, 16, 4, 0, 1},    // one block
    {2, 64, 8, 0, 0}};   // none

TEST_P(BlocksOn, MeansAreThoseOfTheirSlots) {
    auto random = generator();
    for (const auto& [n_channel, n_column, l, first, n] : block_cases) {
        Slots<float> x(n_channel, (first + n) * l, n_column);
        x.fill_normal(random);
        TileBox<float> y(TileBox<float>::output, n_channel, n, {1, 1});
        TileBox<double> want(TileBox<double>::output, n_channel, n);
        want.fill([&, l = l, first = first](int64_t c, int64_t b) {
            double sum = 0;
            for (int64_t s = (first + b) * l; s < (first + b + 1) * l; ++s) sum += x.tiles(c, s);
            return sum / static_cast<double>(l);
        });
        {
            Traps traps;
            block_means<float>(queue(), l, x.tiles, first, y.view());
        }
        y.expect_kept_inside("y");
        expect_close<float>(y.view(), want.view(), 4 * epsilon<float> * 4);
    }
}

TEST_P(BlocksOn, FoldedBlocksHoldTheirSlotsSideBySide) {
    auto random = generator();
    for (const auto& [n_channel, n_column, l, first, n] : block_cases) {
        const int64_t n_dim = n_channel / 2;
        Slots<float> x(n_channel, (first + n) * l, n_column);
        x.fill_normal(random);
        TileBox<float> y(TileBox<float>::output, l * n_dim, n, {0, 2});
        fold_blocks<float>(queue(), l, n_dim, 1, x.tiles, first, y.view());
        y.expect_kept_inside("y");
        for (int64_t row = 0; row < l * n_dim; ++row)
            for (int64_t b = 0; b < n; ++b)
                ASSERT_EQ(y.view()(row, b),
                          x.tiles(n_dim + row % n_dim, (first + b) * l + row / n_dim));
    }
}

/// <dy, f(x)> = <transpose of f of dy, x>, on top of what dx holds.
template <class Forward, class Backward>
void expect_transpose(int64_t n_row, int64_t n, Slots<double>& x, Slots<double>& dx,
                      std::mt19937& random, const Forward& forward, const Backward& backward) {
    TileBox<double> y(TileBox<double>::output, n_row, n), dy(TileBox<double>::input, n_row, n);
    x.fill_normal(random);
    dx.fill_normal(random);
    dy.fill_normal(random);
    forward(y.view());
    double sum = -inner_product(dy.input_view(), y.view());
    for (int64_t i = 0; i < x.data.size(); ++i) sum -= dx.data[i] * x.data[i];
    backward(dy.input_view());
    for (int64_t i = 0; i < x.data.size(); ++i) sum += dx.data[i] * x.data[i];
    EXPECT_NEAR(sum, 0, 1e-11);
}

TEST(BlocksReference, BackwardIsTheTranspose) {
    auto random = generator();
    const Queue queue;
    for (const auto& size : block_cases) {
        const int64_t n_channel = std::get<0>(size), l = std::get<2>(size);
        const int64_t first = std::get<3>(size), n = std::get<4>(size), n_dim = n_channel / 2;
        Slots<double> x(n_channel, (first + n) * l, std::get<1>(size));
        Slots<double> dx(n_channel, (first + n) * l, std::get<1>(size));
        expect_transpose(
            n_channel, n, x, dx, random,
            [&](Tile<double> y) { block_means<double>(queue, l, x.tiles, first, y); },
            [&](Tile<const double> dy) {
                block_means_backward<double>(queue, l, dy, first, dx.tiles);
            });
        expect_transpose(
            l * n_dim, n, x, dx, random,
            [&](Tile<double> y) { fold_blocks<double>(queue, l, n_dim, 1, x.tiles, first, y); },
            [&](Tile<const double> dy) {
                fold_blocks_backward<double>(queue, l, n_dim, 1, dy, first, dx.tiles);
            });
    }
}

TEST_P(BlocksOn, BackwardInSingleAgreesWithDouble) {
    auto random = generator();
    for (const auto& [n_channel, n_column, l, first, n] : block_cases) {
        const int64_t n_slot = (first + n) * l, n_dim = n_channel / 2;
        Slots<float> dx(n_channel, n_slot, n_column);
        Slots<double> want(n_channel, n_slot, n_column);
        TileBox<float> mean(TileBox<float>::input, n_channel, n),
            folded(TileBox<float>::input, l * n_dim, n);
        TileBox<double> mean64(TileBox<double>::input, n_channel, n),
            folded64(TileBox<double>::input, l * n_dim, n);
        mean.fill_normal(random);
        folded.fill_normal(random);
        mean64.fill_from(mean);
        folded64.fill_from(folded);
        block_means_backward<float>(queue(), l, mean.input_view(), first, dx.tiles);
        fold_blocks_backward<float>(queue(), l, n_dim, 0, folded.input_view(), first, dx.tiles);
        block_means_backward<double>(Queue(), l, mean64.input_view(), first, want.tiles);
        fold_blocks_backward<double>(Queue(), l, n_dim, 0, folded64.input_view(), first,
                                     want.tiles);
        for (int64_t i = 0; i < dx.data.size(); ++i)
            ASSERT_NEAR(dx.data[i], want.data[i], 4 * epsilon<float> * 4);
    }
}

TEST_P(BlocksOn, DistancesAgreeWithDoubleAndAreZeroBetweenEqualPoints) {
    auto random = generator();
    for (int64_t d : {1, 2, 3}) {
        for (const TileCase& tile : tile_cases) {
            TileBox<float> a(TileBox<float>::input, d, tile.n_point, tile.layout);
            TileBox<float> b(TileBox<float>::input, d, 21, {0, 1});
            TileBox<float> distance(TileBox<float>::output, 21, tile.n_point, tile.layout);
            a.fill_normal(random);
            b.fill([&](int64_t axis, int64_t j) {
                return j < tile.n_point ? a.input_view()(axis, j) : 100.0f;
            });
            {
                Traps traps;
                distances<float>(queue(), a.input_view(), b.input_view(), distance.view());
            }
            distance.expect_kept_inside("distance");
            TileBox<double> want(TileBox<double>::output, 21, tile.n_point);
            want.fill([&](int64_t j, int64_t i) {
                double square = 0;
                for (int64_t axis = 0; axis < d; ++axis)
                    square += std::pow(static_cast<double>(b.input_view()(axis, j)) -
                                           static_cast<double>(a.input_view()(axis, i)),
                                       2);
                return std::sqrt(square);
            });
            expect_close<float>(distance.view(), want.view(), 4 * epsilon<float> * 200);
            for (int64_t i = 0; i < std::min<int64_t>(21, tile.n_point); ++i)
                ASSERT_EQ(distance.view()(i, i), 0);
        }
    }
}

TEST(DistanceLevels, GiveTheSameBitsAsTheReference) {
    auto random = generator();
    TileBox<float> a(TileBox<float>::input, 3, 37), b(TileBox<float>::input, 3, 20);
    TileBox<float> want(TileBox<float>::output, 20, 37), got(TileBox<float>::output, 20, 37);
    a.fill_normal(random);
    b.fill_normal(random);
    distances<float>(Queue(), a.input_view(), b.input_view(), want.view());
    distances<float>(Queue(Backend::simd, VectorLevel::scalar, 1), a.input_view(), b.input_view(),
                     got.view());
    expect_same_bits<float>(got.view(), want.view());
    for (VectorLevel level : wide_levels()) {
        distances<float>(Queue(Backend::simd, level, 1), a.input_view(), b.input_view(),
                         got.view());
        expect_same_bits<float>(got.view(), want.view());
    }
}

}  // namespace
}  // namespace surrogate::kernels::bsa::test
