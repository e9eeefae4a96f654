// SPDX-License-Identifier: Apache-2.0
// Joining of hits in the example, on any number of ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <vector>

#include "exchange.hpp"
#include "join.hpp"
#include "random.hpp"

namespace {

using namespace tracking;

struct Placed {
    Hit hit;
    float place[2];
};

Placed placed(int64_t id, int32_t layer, double azimuth, float x, float y = 0, int64_t event = 0) {
    Hit hit{};
    hit.id = id;
    hit.event = event;
    hit.layer = layer;
    hit.azimuth = azimuth;
    hit.particle = -1;
    return {hit, {x, y}};
}

/// Labels by id on every rank, of hits that lie with the rank of their sector.
std::map<int64_t, int64_t> joined(const std::vector<Placed>& all, double radius,
                                  MPI_Comm comm = MPI_COMM_WORLD) {
    std::vector<Hit> hits;
    Embedding embedding{2, {}, 0};
    for (const Placed& p : all)
        if (sector_of(p.hit.azimuth, size_of(comm)) == rank_of(comm)) {
            hits.push_back(p.hit);
            embedding.rows.insert(embedding.rows.end(), p.place, p.place + 2);
        }
    const std::vector<int64_t> labels = join(comm, hits, embedding, radius);
    std::vector<std::pair<int64_t, int64_t>> mine;
    for (std::size_t i = 0; i < hits.size(); ++i) mine.emplace_back(hits[i].id, labels[i]);
    struct Row {
        int64_t id, label;
    };
    std::vector<Row> rows;
    for (const auto& [id, label] : mine) rows.push_back({id, label});
    std::map<int64_t, int64_t> found;
    for (const Row& row :
         exchange_rows(comm, std::vector<std::vector<Row>>(std::size_t(size_of(comm)), rows)))
        found[row.id] = row.label;
    return found;
}

using Labels = std::map<int64_t, int64_t>;

TEST(TrackingJoin, NearHitsOnDifferentLayersAreOneGroup) {
    EXPECT_EQ(joined({placed(3, 0, 0, 0), placed(7, 1, 0.1, 1), placed(9, 2, 0.2, 2),
                      placed(11, 3, 0.2, 3.5)},
                     1.2),
              (Labels{{3, 3}, {7, 3}, {9, 3}, {11, 11}}));
}

TEST(TrackingJoin, HitsOfALayerOrOfOtherEventsOrFarInAzimuthAreNot) {
    EXPECT_EQ(joined({placed(1, 4, 0, 0), placed(2, 4, 0, 0.1F)}, 1), (Labels{{1, 1}, {2, 2}}));
    EXPECT_EQ(joined({placed(1, 4, 0, 0, 0, 0), placed(2, 5, 0, 0, 0, 1)}, 1),
              (Labels{{1, 1}, {2, 2}}));
    EXPECT_EQ(joined({placed(1, 4, 0, 0), placed(2, 5, window_rad + 0.01, 0)}, 1),
              (Labels{{1, 1}, {2, 2}}));
}

TEST(TrackingJoin, OnlyThoseWhoChooseEachOtherAreLinked) {
    // 2 and 3 both want 1, which wants the nearer one: 3 on the same layer as 2.
    EXPECT_EQ(joined({placed(1, 0, 0, 0), placed(2, 1, 0, 0.9F), placed(3, 1, 0, 0.5F)}, 1),
              (Labels{{1, 1}, {2, 2}, {3, 1}}));
}

TEST(TrackingJoin, OfEquallyNearHitsTheLowerNumberIsChosen) {
    EXPECT_EQ(joined({placed(1, 0, 0, 0), placed(8, 1, 0, 0.5F), placed(5, 1, 0, -0.5F)}, 1),
              (Labels{{1, 1}, {5, 1}, {8, 8}}));
}

TEST(TrackingJoin, AGroupMayGoAroundTheBeam) {
    // Over the end of the azimuth, and over all ranks: the label is sent from one to the next.
    std::vector<Placed> ring;
    for (int i = 0; i < 36; ++i) {
        const double azimuth =
            std::remainder(0.3 + i * std::numbers::pi / 18, 2 * std::numbers::pi);
        ring.push_back(placed(100 - i, i % 3, azimuth, float(i)));
    }
    for (const auto& [id, label] : joined(ring, 1.5)) EXPECT_EQ(label, 65) << id;
}

TEST(TrackingJoin, EventsWithoutHitsAndNoHitsAtAllAreAllowed) {
    EXPECT_TRUE(joined({}, 1).empty());
    EXPECT_EQ(joined({placed(2, 0, 1, 0, 0, 7)}, 1), (Labels{{2, 2}}));
}

/// The definition, in plain loops over all pairs.
Labels by_definition(const std::vector<Placed>& all, double radius) {
    const std::size_t n = all.size();
    const auto distance = [&](std::size_t i, std::size_t j) {
        const Hit &a = all[i].hit, &b = all[j].hit;
        const double x = double(all[i].place[0]) - double(all[j].place[0]);
        const double y = double(all[i].place[1]) - double(all[j].place[1]), d = x * x + y * y;
        const double turn = std::remainder(a.azimuth - b.azimuth, 2 * std::numbers::pi);
        const bool is_near = a.event == b.event && a.layer != b.layer &&
                             std::abs(turn) < window_rad && d < radius * radius;
        return is_near ? d : std::numeric_limits<double>::infinity();
    };
    const auto is_chosen = [&](std::size_t i, std::size_t j) {
        for (std::size_t k = 0; k < n; ++k)
            if (all[k].hit.layer == all[j].hit.layer &&
                std::pair(distance(i, k), all[k].hit.id) < std::pair(distance(i, j), all[j].hit.id))
                return false;
        return std::isfinite(distance(i, j));
    };
    std::vector<int64_t> label;
    for (const Placed& p : all) label.push_back(p.hit.id);
    for (bool is_changed = true; is_changed;) {
        is_changed = false;
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = 0; j < n; ++j)
                if (label[j] < label[i] && is_chosen(i, j) && is_chosen(j, i)) {
                    label[i] = label[j];
                    is_changed = true;
                }
    }
    Labels labels;
    for (std::size_t i = 0; i < n; ++i) labels[all[i].hit.id] = label[i];
    return labels;
}

TEST(TrackingJoin, IsItsDefinitionOnAnyNumberOfRanks) {
    std::vector<Placed> all;
    for (int64_t i = 0; i < 240; ++i) {
        const auto u = Random(17, Stream::hit, i).uniform(0),
                   v = Random(17, Stream::hit, i).uniform(1);
        all.push_back(placed(1000 - 3 * i, int32_t(5 * u[0]), std::numbers::pi * (2 * u[1] - 1),
                             float(u[2]), float(u[3]), int64_t(2 * v[0])));
    }
    for (const double radius : {0.02, 0.1, 0.3}) {
        const Labels expected = by_definition(all, radius);
        EXPECT_EQ(joined(all, radius), expected) << "radius " << radius;
        EXPECT_EQ(joined(all, radius, MPI_COMM_SELF), expected) << "radius " << radius;
    }
}

}  // namespace
