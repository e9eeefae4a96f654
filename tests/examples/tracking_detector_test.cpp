// SPDX-License-Identifier: Apache-2.0
// The example's detector and its events, on any number of ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <set>
#include <vector>

#include "event.hpp"
#include "exchange.hpp"
#include "features.hpp"
#include "random.hpp"

namespace {

using namespace tracking;

using std::numbers::pi;

TEST(TrackingRandom, IsPhiloxAsPublished) {
    using Words = std::array<uint32_t, 4>;
    EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}),
              (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
    EXPECT_EQ(philox({5, 0, 1, 1}, {42, 0}), (Words{301279388, 182136039, 1228787789, 625129180}));
}

TEST(TrackingRandom, NormalsHaveMeanZeroAndDeviationOne) {
    double sum = 0, squares = 0;
    constexpr int n = 20000;
    for (int i = 0; i < n; ++i)
        for (const double x : Random(1, Stream::hit, i).normal(3)) sum += x, squares += x * x;
    EXPECT_LE(std::abs(sum / (4 * n)), 0.02);  // 5 deviations of the mean
    EXPECT_NEAR(squares / (4 * n), 1, 0.03);
}

TEST(TrackingHelix, CrossesACylinderWhereTheChordIsItsRadius) {
    for (const double momentum : {0.3, 1.0, 50.0})
        for (const int charge : {-1, 1}) {
            const Helix helix{{0, 0, 7}, 0.4, 0.8, curvature_of(momentum, charge)};
            const double radius = 240, half = std::asin(helix.curvature * radius / 2);
            const auto length = Layer{true, radius, -550, 550}.crossing(helix);
            ASSERT_TRUE(length.has_value());
            const Position x = helix.at(*length);
            EXPECT_NEAR(*length, 2 / helix.curvature * half, 1e-7);
            EXPECT_NEAR(std::atan2(x[1], x[0]), 0.4 + half, 1e-10);
            EXPECT_NEAR(std::hypot(x[0], x[1]), radius, 1e-9);
            EXPECT_NEAR(x[2], 7 + 0.8 * *length, 1e-9);
        }
}

TEST(TrackingHelix, CrossesACylinderFromBesideTheBeam) {
    const Helix helix{{0.05, -0.03, -40}, 2.5, -0.3, curvature_of(0.35, 1)};
    const auto length = Layer{true, 320, -550, 550}.crossing(helix);
    ASSERT_TRUE(length.has_value());
    const Position x = helix.at(*length);
    EXPECT_NEAR(std::hypot(x[0], x[1]), 320, 1e-9);
}

TEST(TrackingHelix, IsACircleInThePlane) {
    const Helix helix{{3, -2, 0}, 1.1, 0.5, curvature_of(0.5, -1)};
    const double k = helix.curvature;
    const double center_x = 3 - std::sin(1.1) / k, center_y = -2 + std::cos(1.1) / k;
    for (const double length : {0.0, 1e-3, 100.0, 900.0}) {
        const Position x = helix.at(length);
        EXPECT_NEAR(std::hypot(x[0] - center_x, x[1] - center_y), 1 / std::abs(k), 1e-8);
    }
    EXPECT_LT(curvature_of(1, 1), 0);  // to the right, in a field along the beam
    EXPECT_NEAR(momentum_of(curvature_of(1.7, -1)), 1.7, 1e-14);
    EXPECT_NEAR(1 / curvature_of(1, -1), 1000 / (0.299792458 * 2), 1e-9);  // mm for a GeV in 2 T
}

TEST(TrackingHelix, MissesWhatItDoesNotReach) {
    const Layer cylinder{true, 320, -550, 550}, disc{false, 600, 30, 330};
    Helix helix{{0, 0, 0}, 0, 0.5, 1.9 / 320};
    EXPECT_FALSE(cylinder.crossing(helix));  // turns back inside
    helix = {{0, 0, 0}, 0, 2, curvature_of(5, 1)};
    EXPECT_FALSE(cylinder.crossing(helix));  // leaves through the end
    EXPECT_TRUE(disc.crossing(helix));
    helix.slope = -2;
    EXPECT_FALSE(disc.crossing(helix));  // the other end
    helix.slope = 30;
    EXPECT_FALSE(disc.crossing(helix));  // through the hole
    helix.slope = 1;
    EXPECT_FALSE(disc.crossing(helix));  // outside
}

/// The hits of all ranks, on every rank, by id.
std::vector<Hit> all_of(const std::vector<Hit>& mine) {
    const std::vector<std::vector<Hit>> to(std::size_t(size_of(MPI_COMM_WORLD)), mine);
    std::vector<Hit> all = exchange_rows(MPI_COMM_WORLD, to);
    std::sort(all.begin(), all.end(), [](const Hit& a, const Hit& b) { return a.id < b.id; });
    return all;
}

EventShape shape_of(int64_t n_hit) {
    EventShape shape;
    shape.n_hit = n_hit;
    return shape;
}

TEST(TrackingEvent, IsTheSameOnAnyNumberOfRanks) {
    const auto mine = read_events(MPI_COMM_WORLD, 5, 3, shape_of(900));
    const auto all = all_of(mine), whole = read_events(MPI_COMM_SELF, 5, 3, shape_of(900));
    ASSERT_EQ(all.size(), whole.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        EXPECT_EQ(all[i].id, whole[i].id);
        EXPECT_EQ(features_of(all[i]), features_of(whole[i]));
        EXPECT_EQ(all[i].particle, whole[i].particle);
        EXPECT_EQ(all[i].n_of_particle, whole[i].n_of_particle);
        EXPECT_EQ(all[i].momentum, whole[i].momentum);
    }
    for (const Hit& hit : mine)
        EXPECT_EQ(sector_of(hit.azimuth, size_of(MPI_COMM_WORLD)), rank_of(MPI_COMM_WORLD));
}

TEST(TrackingEvent, OneOfManyIsTheOneOfItsSeed) {
    const auto third = read_events(MPI_COMM_SELF, 7, 1, shape_of(500));
    std::vector<Hit> found;
    for (const Hit& hit : read_events(MPI_COMM_SELF, 5, 3, shape_of(500)))
        if (hit.event == 2) found.push_back(hit);
    ASSERT_EQ(found.size(), third.size());
    for (std::size_t i = 0; i < found.size(); ++i)
        EXPECT_EQ(features_of(found[i]), features_of(third[i]));
}

TEST(TrackingEvent, HasAboutAsManyHitsAsAsked) {
    for (const int64_t n : {1000, 20000}) {
        const double tolerance = n > 10000 ? 0.02 : 0.06;
        for (const int64_t n_collision : {1, 21}) {
            EventShape shape = shape_of(n);
            shape.n_collision = n_collision;
            const auto hits = all_of(read_events(MPI_COMM_WORLD, 3, 1, shape));
            EXPECT_NEAR(double(hits.size()), double(n), tolerance * double(n));
            int64_t n_noise = 0;
            for (const Hit& hit : hits) n_noise += hit.particle < 0;
            EXPECT_EQ(n_noise, n_noise_of(shape));
        }
    }
}

TEST(TrackingEvent, SensorsMissAsManyAsTheyAreSaidTo) {
    EventShape all = shape_of(20000), half = all;
    all.noise = half.noise = 0;
    all.efficiency = 1;
    half.efficiency = 0.5;
    int64_t n_all = 0, n_half = 0;
    for (int64_t number = 0; number < 2000; ++number) {
        std::vector<Hit> seen, missed;
        add_particle(9, all, 0, number, &seen);
        add_particle(9, half, 0, number, &missed);
        n_all += int64_t(seen.size());
        n_half += int64_t(missed.size());
    }
    EXPECT_NEAR(double(n_half) / double(n_all), 0.5, 5 * 0.5 / std::sqrt(double(n_all)));
}

TEST(TrackingEvent, HitsLieOnTheirLayersAndKnowTheirParticles) {
    const auto hits = read_events(MPI_COMM_SELF, 2, 1, shape_of(4000));
    std::set<int64_t> ids;
    std::map<int64_t, std::set<int32_t>> layers_of;
    for (const Hit& hit : hits) {
        const Layer& layer = layers[std::size_t(hit.layer)];
        EXPECT_NEAR(layer.is_barrel ? hit.radius : hit.z, layer.at, 1e-9);
        EXPECT_LE(std::abs(hit.azimuth), pi);
        ids.insert(hit.id);
        if (hit.particle < 0) continue;
        EXPECT_TRUE(layers_of[hit.particle].insert(hit.layer).second);
    }
    EXPECT_EQ(ids.size(), hits.size());
    for (const Hit& hit : hits) {
        if (hit.particle < 0) continue;
        EXPECT_EQ(std::size_t(hit.n_of_particle), layers_of[hit.particle].size());
    }
}

TEST(TrackingEvent, CollisionsOfPileUpLieAlongTheBeam) {
    EventShape shape = shape_of(10000);
    shape.n_collision = 40;
    std::set<double> places;
    for (int64_t number = 0; number < 400; ++number)
        places.insert(particle_of(1, shape, number).helix.origin[2]);
    EXPECT_EQ(places.size(), 40u);
    EXPECT_GE(*places.rbegin() - *places.begin(), 100);
    EXPECT_LE(*places.rbegin() - *places.begin(), 400);
}

TEST(TrackingFeatures, CirclesThroughTheBeamAreLinesInUAndV) {
    const Helix helix{{0, 0, 0}, -0.7, 0.2, curvature_of(0.4, 1)};
    std::vector<std::array<double, 2>> uv;
    for (std::size_t k = 6; k < 12; ++k) {
        const Position x = helix.at(*layers[k].crossing(helix));
        Hit hit{};
        hit.radius = std::hypot(x[0], x[1]);
        hit.azimuth = std::atan2(x[1], x[0]);
        hit.z = x[2];
        const auto row = features_of(hit);
        uv.push_back({row[4], row[5]});
        EXPECT_NEAR(row[3], std::asinh(x[2] / hit.radius), 1e-12);
    }
    for (std::size_t i = 2; i < uv.size(); ++i)
        EXPECT_NEAR((uv[i][0] - uv[0][0]) * (uv[1][1] - uv[0][1]),
                    (uv[i][1] - uv[0][1]) * (uv[1][0] - uv[0][0]), 1e-15);
}

}  // namespace
