// SPDX-License-Identifier: Apache-2.0
// The order in which points are computed: ids that break ties, and errors.
#include <gtest/gtest.h>

#include <string>

#include "libsurrogate/src/domain/canonical_order.hpp"
#include "libsurrogate/src/transport/mpi_communicator.hpp"
#include "tests/libsurrogate/hept/token_cases.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/trap_guard.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

using impl::hept::HomeOrder;
using impl::hept::Place;

/// Two clouds of 40 and 25 points, whose points 3 and 50 have the same coordinates.
HeptPoints two_clouds() {
    HeptPoints points = token_case("", {40, 25}, 8).points;
    for (size_t axis : {0U, 1U}) points.x[100 + axis] = points.x[6 + axis];
    return points;
}

/// Collective.
HomeOrder home_of(const HeptPoints& points, const char* partition, bool is_reproducible = false,
                  int64_t coords_dim = 2) {
    impl::hept::Config config;
    config.block_size = 8;
    config.coords_dim = coords_dim;
    const TrapGuard traps;
    const HeptPoints own = points.rows(own_rows(partition, points.n(), world));
    HeptPlan plan(impl::mpi_communicator(world), config, own, is_reproducible);
    return std::move(plan.home);
}

/// Gathers the points of all ranks, in the order of ranks.
std::vector<Place> all_places(const HomeOrder& home) {
    return gathered(std::vector<Place>(home.places.begin(), home.places.end()), world);
}

TEST(HomeOrder, HasTheIdsOfTheDomain) {
    const HeptPoints points = two_clouds();
    const std::vector<Place> places = all_places(home_of(points, "scattered"));
    ASSERT_EQ(std::ssize(places), points.n());
    std::vector<int64_t> ids;
    for (const Place& place : places) {
        EXPECT_EQ(place.cloud, points.clouds[static_cast<size_t>(place.id / 7)]);
        ids.push_back(place.id);
    }
    std::ranges::sort(ids);
    EXPECT_EQ(ids, points.ids);
}

TEST(HomeOrder, TellsEachPointWhereItGoes) {
    const HeptPoints points = two_clouds();
    const std::vector<int64_t> rows = own_rows("scattered", points.n(), world);
    const HomeOrder home = home_of(points, "scattered");
    const std::vector<Place> places = all_places(home);
    for (size_t i = 0; i < rows.size(); ++i) {
        EXPECT_EQ(places[static_cast<size_t>(home.positions[i])].id,
                  points.ids[static_cast<size_t>(rows[i])]);
    }
}

TEST(HomeOrder, WithoutIdsNumbersPointsThroughTheRanks) {
    HeptPoints points = two_clouds();
    points.ids.clear();
    std::vector<int64_t> ids;
    for (const Place& place : all_places(home_of(points, "contiguous"))) ids.push_back(place.id);
    std::ranges::sort(ids);
    for (int64_t i = 0; i < points.n(); ++i) EXPECT_EQ(ids[static_cast<size_t>(i)], i);
}

TEST(HomeOrder, WithoutIdsIsThatOfEveryPartitionInReproducibleMode) {
    HeptPoints points = two_clouds();
    points.ids.clear();
    const std::vector<Place> first = all_places(home_of(points, "contiguous", true));
    for (const char* partition : {"scattered", "uneven"}) {
        const std::vector<Place> places = all_places(home_of(points, partition, true));
        ASSERT_EQ(places.size(), first.size());
        for (size_t i = 0; i < first.size(); ++i) {
            EXPECT_EQ(places[i].id, first[i].id);
            for (int axis : {0, 1}) EXPECT_EQ(places[i].rank[axis], first[i].rank[axis]);
        }
    }
}

TEST(HomeOrder, RefusesEqualPointsOfACloudInReproducibleModeOnly) {
    HeptPoints points = two_clouds();
    points.ids.clear();
    points.clouds[50] = 0;  // the cloud of point 3, which has the same coordinates
    EXPECT_EQ(refusal([&] { home_of(points, "scattered"); }).status, kernels::Status::success);
    const Refusal found = refusal([&] { home_of(points, "scattered", true); });
    EXPECT_EQ(found.status, kernels::Status::invalid_argument);
    EXPECT_TRUE(found.says("coordinates (") && found.says("in cloud 0")) << found.text;
    EXPECT_TRUE(ranks_still_talk(world));
}

TEST(HomeOrder, RefusesEqualIdsOfPointsThatLieApart) {
    HeptPoints points = two_clouds();
    points.ids[60] = points.ids[2];
    const Refusal found = refusal([&] { home_of(points, "scattered"); });
    EXPECT_EQ(found.status, kernels::Status::invalid_argument);
    EXPECT_TRUE(found.says("14")) << found.text;
    EXPECT_TRUE(ranks_still_talk(world));
}

TEST(HomeOrder, NamesAPointThatIsNotFiniteForTheNetwork) {
    HeptPoints points = two_clouds();
    points.x[2 * 33] = 1e200;
    const Refusal found = refusal([&] { home_of(points, "scattered"); });
    EXPECT_EQ(found.status, kernels::Status::not_finite);
    EXPECT_TRUE(found.says("point with id 231") && found.says("coordinate 0")) << found.text;
    EXPECT_TRUE(ranks_still_talk(world));
}

TEST(HomeOrder, NeedsTheCoordinatesOfTheNetwork) {
    const HeptPoints points = two_clouds();
    const Refusal found = refusal([&] { home_of(points, "scattered", false, 4); });
    EXPECT_EQ(found.status, kernels::Status::shape);
    EXPECT_TRUE(found.says("needs 4 coordinates, found 2")) << found.text;
}

TEST(HomeOrder, OfPointsWithoutCloudsIsOneCloud) {
    HeptPoints points = two_clouds();
    points.clouds.clear();
    const HomeOrder home = home_of(points, "uneven");
    EXPECT_EQ(home.cloud_sizes, std::vector<int64_t>{points.n()});
    for (const Place& place : home.places) EXPECT_EQ(place.cloud, 0);
}

}  // namespace
}  // namespace surrogate::test
