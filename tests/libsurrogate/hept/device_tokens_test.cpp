// SPDX-License-Identifier: Apache-2.0
// A plan's cells as a device sorts them.
#include "libsurrogate/src/model/hept/device_tokens.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/libsurrogate/hept/hept_points.hpp"

namespace surrogate::test {
namespace {

using namespace surrogate::impl::hept;
using kernels::hept::DeviceCell;
using kernels::hept::DeviceLargeCell;
using kernels::hept::largest_chunk;
using kernels::hept::warp_cell;

Config config_of(int64_t n_table, Padding padding) {
    Config config;
    config.coords_dim = 2;
    config.num_heads = 2;
    config.n_hashes = n_table;
    config.block_size = 16;
    config.padding = padding;
    return config;
}

/// Points of a plan whose ids run against their order in the domain.
struct Planned {
    Planned(const Config& config, int64_t n, float n_slab)
        : plan(impl::self_communicator(), config, points_of(n)) {
        plan.connect(config, std::vector<float>(static_cast<size_t>(2 * config.n_row()), n_slab));
        tokens = DeviceTokens(config, plan.plan, points_at_home(plan.home.positions));
    }
    static HeptPoints points_of(int64_t n) {
        HeptPoints points;
        for (int64_t i = 0; i < n; ++i) {
            const auto x = static_cast<double>(i);
            points.add({std::sin(1.3 * x), std::sin(0.7 * x * x)}, n - i);
        }
        return points;
    }

    HeptPlan plan;
    DeviceTokens tokens;
};

void count(const DeviceCell& cell, int64_t n_token, std::vector<int>& places,
           std::vector<int>& members) {
    for (int32_t i = 0; i < cell.n; ++i) {
        ++places.at(static_cast<size_t>(cell.row * n_token + cell.to + i));
        ++members.at(static_cast<size_t>(cell.row * n_token + cell.begin + i));
    }
}

/// Each place and each member belongs to one cell, each key to one part.
void expect_whole(const Config& config, const Planned& planned) {
    const DeviceTokens& tokens = planned.tokens;
    const int64_t n_token = planned.plan.plan.n_token();
    std::vector<int> places(static_cast<size_t>(config.n_row() * n_token)), members = places;
    std::vector<int> keys(static_cast<size_t>(tokens.n_key));
    for (const DeviceCell& cell : tokens.small) {
        EXPECT_LE(cell.n, warp_cell);
        count(cell, n_token, places, members);
    }
    for (const DeviceCell& cell : tokens.middle) {
        EXPECT_LE(cell.n, std::min(tokens.largest_middle, largest_chunk));
        count(cell, n_token, places, members);
    }
    for (const DeviceLargeCell& large : tokens.large) {
        EXPECT_LE(large.cell.n, tokens.largest);
        count(large.cell, n_token, places, members);
        int32_t n = 0;
        for (const DeviceCell& part : tokens.parts) {
            if (part.row != large.cell.row || part.begin < large.cell.begin ||
                part.begin >= large.cell.begin + large.cell.n)
                continue;
            EXPECT_LE(part.n, largest_chunk);
            EXPECT_EQ(part.to - large.first, part.begin - large.cell.begin);
            for (int32_t i = 0; i < part.n; ++i) ++keys.at(static_cast<size_t>(part.to + i));
            n += part.n;
        }
        EXPECT_EQ(n, large.cell.n);
    }
    for (const std::vector<int>* counts : {&places, &members, &keys})
        EXPECT_TRUE(std::ranges::all_of(*counts, [](int n) { return n == 1; }));
}

TEST(HeptDeviceTokens, AreSortedOnceInEachRow) {
    for (const Padding padding : {Padding::masked, Padding::duplicate, Padding::zero}) {
        const Config config = config_of(2, padding);
        for (const int64_t n : {0, 1, 15, 16, 77, 500}) {
            for (const float n_slab : {0.5F, 3.0F, 1000.0F}) {
                SCOPED_TRACE(std::to_string(n) + " points, slabs " + std::to_string(n_slab));
                expect_whole(config, Planned(config, n, n_slab));
            }
        }
    }
}

TEST(HeptDeviceTokens, OfLargeCellsAreCutIntoParts) {
    const Config config = config_of(1, Padding::masked);
    const Planned planned(config, 2 * largest_chunk + 1, 0.5F);
    EXPECT_EQ(planned.tokens.large.size(), 2U);
    EXPECT_EQ(planned.tokens.parts.size(), 6U);
    EXPECT_EQ(planned.tokens.largest, 2 * largest_chunk + 1);
    expect_whole(config, planned);
}

TEST(HeptDeviceTokens, KnowTheirPointOfTheSolver) {
    const Config config = config_of(1, Padding::duplicate);
    const Planned planned(config, 37, 3);
    const TokenPlan& plan = planned.plan.plan;
    ASSERT_EQ(std::ssize(planned.tokens.points), 48);
    for (int64_t t = 0; t < 48; ++t) {
        const int64_t home = t < 37 ? t : int64_t{plan.copied()[static_cast<size_t>(t - 37)]};
        const int64_t point = planned.tokens.points[static_cast<size_t>(t)];
        EXPECT_EQ(planned.plan.home.places[home].id, 37 - point) << t;
    }
}

}  // namespace
}  // namespace surrogate::test
