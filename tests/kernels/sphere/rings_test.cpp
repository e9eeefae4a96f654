// SPDX-License-Identifier: Apache-2.0
#include "kernels/sphere/rings.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "kernels/base/buffer.hpp"
#include "tests/kernels/base/tile_box.hpp"

namespace surrogate::kernels::sphere {
namespace {

using kernels::test::TileBox;

/// Value of a column of the whole row, wherever it lies.
double value(int64_t row, int64_t channel, int64_t column) {
    return static_cast<double>(row * 10000 + channel * 1000 + column);
}

struct Case {
    int64_t n_phase, n_column;
    std::vector<Strip> strips;  ///< of grid rows 2 to 4
};
const Case cases[] = {
    {1, 40, {{2, -3, 7}, {3, -20, 40}}},
    {2, 5, {{4, -2, 5}, {5, 0, 2}, {7, 2, 3}, {8, -2, 1}}},        // ends longer than the ring
    {3, 4, {{6, -2, 4}, {14, 1, 3}, {0, -400, 3}, {99, 0, 400}}},  // rows of others are ignored
    {1, 1, {{2, 0, 1}}},
    {2, 16, {}},
};

TEST(SphereRings, HoldPhasesWithCopiesBeyondBothEnds) {
    for (const Case& c : cases) {
        const RingLayout layout(2, 5, c.n_phase, c.n_column, 3, c.strips);
        Buffer<float> data(layout.size());
        const Rings<float> rings{&layout, data.data()};
        const int64_t n_lon = c.n_phase * c.n_column;
        for (int64_t row = 2; row < 5; ++row) {
            TileBox<float> x(TileBox<float>::input, 3, n_lon, {1, 1});
            x.fill([&](int64_t channel, int64_t j) { return value(row, channel, j); });
            store_row<float>(x.input_view(), row, rings);
            x.expect_unchanged("x");
        }
        for (int64_t phase_row = 2 * c.n_phase; phase_row < 5 * c.n_phase; ++phase_row) {
            for (int64_t channel = 0; channel < 3; ++channel) {
                const float* ring = rings.at(phase_row, channel);
                for (int64_t j = -layout.before(phase_row);
                     j < c.n_column + layout.after(phase_row); ++j) {
                    const int64_t wrapped = (j % c.n_column + c.n_column) % c.n_column;
                    ASSERT_EQ(ring[j], value(phase_row / c.n_phase, channel,
                                             wrapped * c.n_phase + phase_row % c.n_phase))
                        << "column " << j << " of phase row " << phase_row;
                }
            }
        }
    }
}

TEST(SphereRings, HaveRoomForStripsAndAGroupOfLanes) {
    for (const Case& c : cases) {
        const RingLayout layout(2, 5, c.n_phase, c.n_column, 3, c.strips);
        for (const Strip& strip : c.strips) {
            if (strip.row < 2 * c.n_phase || strip.row >= 5 * c.n_phase) continue;
            EXPECT_GE(layout.before(strip.row), -strip.first);
            // The last column of a ring may lead a group of lanes.
            EXPECT_GE(layout.after(strip.row), strip.first + strip.count - 1 + lane_count - 1);
        }
        int64_t end = 0;
        for (int64_t row = 2 * c.n_phase; row < 5 * c.n_phase; ++row) {
            EXPECT_EQ(layout.begin(row) - layout.before(row), end) << "rings follow each other";
            EXPECT_EQ(layout.step(row) % (2 * lane_count), lane_count) << "odd multiples";
            EXPECT_LE(layout.before(row) + c.n_column + layout.after(row), layout.step(row));
            EXPECT_GE(layout.after(row), lane_count);
            end += 3 * layout.step(row);
        }
        EXPECT_EQ(layout.size(), end);
    }
}

TEST(SphereRings, RowIsATileThatCanBeClosedAgain) {
    const std::vector<Strip> strips = {{0, -2, 5}};
    const RingLayout layout(0, 1, 1, 20, 2, strips);
    Buffer<double> data(layout.size());
    const Rings<double> rings{&layout, data.data()};
    const Tile<double> row = rings.row(0);
    EXPECT_GE(row.stride[0], round_up(20, lane_count));
    for (int64_t c = 0; c < 2; ++c)
        for (int64_t j = 0; j < 32; ++j) row(c, j) = value(0, c, j);  // padding and all
    close_ring<double>(0, rings);
    for (int64_t c = 0; c < 2; ++c) {
        EXPECT_EQ(rings.at(0, c)[-2], value(0, c, 18));
        EXPECT_EQ(rings.at(0, c)[20], value(0, c, 0));
        EXPECT_EQ(rings.at(0, c)[22], value(0, c, 2));
    }
}

TEST(SphereRings, OfNoRowsAreEmpty) {
    const RingLayout layout(3, 3, 2, 8, 4, {});
    EXPECT_EQ(layout.size(), 0);
    EXPECT_EQ(layout.end_row(), 3);
}

}  // namespace
}  // namespace surrogate::kernels::sphere
