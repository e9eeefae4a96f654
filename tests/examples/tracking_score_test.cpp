// SPDX-License-Identifier: Apache-2.0
// Scores of embeddings, and the events and scores of the program pileup, on any number of ranks.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numbers>
#include <vector>

#include "embedding_score.hpp"
#include "exchange.hpp"
#include "pileup/inputs.hpp"
#include "pileup/particles.hpp"
#include "pileup/score.hpp"
#include "tracks.hpp"

namespace {

using namespace tracking;

/// A hit of a particle of four hits, at a place of an embedding with one number.
struct OfParticle {
    int64_t particle;
    double momentum, azimuth;
    float place;
};

EmbeddingScore score_of_hits(const std::vector<OfParticle>& all, int64_t n_event = 1) {
    std::vector<Hit> hits;
    Embedding embedding{1, {}, 0};
    for (int64_t event = 0; event < n_event; ++event)
        for (std::size_t i = 0; i < all.size(); ++i) {
            const OfParticle& p = all[i];
            if (sector_of(p.azimuth, size_of(MPI_COMM_WORLD)) != rank_of(MPI_COMM_WORLD)) continue;
            Hit hit{};
            hit.id = event * 100 + int64_t(i);
            hit.event = event;
            hit.particle = p.particle < 0 ? -1 : event * 10 + p.particle;
            hit.n_of_particle = 4;
            hit.momentum = p.momentum;
            hits.push_back(hit);
            embedding.rows.push_back(p.place);
        }
    return embedding_score(MPI_COMM_WORLD, hits, embedding, 0.9);
}

TEST(EmbeddingScore, CountsHitsOfTheParticleAmongTheNearest) {
    // Particle 1 at 0, 1, 2 and 10, noise at 3.5, soft particle 2 far away.
    const std::vector<OfParticle> hits = {{1, 1.0, -3, 0},   {1, 1.0, -1, 1},  {1, 1.0, 1, 2},
                                          {1, 1.0, 3, 10},   {-1, 0, 2, 3.5f}, {2, 0.5, 0, 50},
                                          {2, 0.5, 0.5, 51}, {2, 0.5, 1, 52},  {2, 0.5, 2, 53}};
    // Each has the noise at another rank among its four nearest: 3, 3, 2, 1.
    const double found = 2.0 / 3;
    const double precision =
        (2 * (1 + 1 + 3.0 / 4) + (1 + 2.0 / 3 + 3.0 / 4) + (1.0 / 2 + 2.0 / 3 + 3.0 / 4)) / 12;
    for (const int64_t n_event : {1, 4}) {
        const EmbeddingScore score = score_of_hits(hits, n_event);
        EXPECT_EQ(score.n_hit, 4 * n_event);
        EXPECT_NEAR(score.accuracy, found, 1e-12);
        EXPECT_NEAR(score.average_precision, precision, 1e-12);
    }
}

TEST(EmbeddingScore, IsZeroWithoutHits) {
    const EmbeddingScore score = score_of_hits({});
    EXPECT_EQ(score.n_hit, 0);
    EXPECT_EQ(score.accuracy + score.average_precision, 0);
}

TEST(EmbeddingScore, OfParticlesThatArePlacesIsOne) {
    EventShape shape;
    shape.n_hit = 1500;
    const auto hits = read_events(MPI_COMM_WORLD, 5, 2, shape);
    Embedding embedding{1, {}, 0};
    for (const Hit& hit : hits)
        embedding.rows.push_back(float(hit.particle < 0 ? -hit.id - 10 : hit.particle));
    const EmbeddingScore score = embedding_score(MPI_COMM_WORLD, hits, embedding, 0.9);
    EXPECT_GT(score.n_hit, 300);
    EXPECT_NEAR(score.accuracy, 1, 1e-12);
    EXPECT_NEAR(score.average_precision, 1, 1e-12);
}

TEST(Vertex, IsFoundFromDirections) {
    for (const auto& [n_hit, tolerance_mm] : {std::pair(1000, 4.0), std::pair(10000, 1.5)}) {
        EventShape shape;
        shape.n_hit = n_hit;
        for (uint64_t seed = 1; seed <= 6; ++seed) {
            const double at_mm = particle_of(seed, shape, 0).helix.origin[2];
            for (const Hit& hit : read_events(MPI_COMM_WORLD, seed, 1, shape))
                ASSERT_NEAR(hit.vertex, at_mm, tolerance_mm) << "seed " << seed;
        }
    }
}

// Values of scikit-learn's average_precision_score.
TEST(AveragePrecision, GroupsEqualScores) {
    using pileup::average_precision;
    EXPECT_NEAR(average_precision({5, 4, 3, 2, 1}, {true, false, true, false, true}),
                (1 + 2.0 / 3 + 3.0 / 5) / 3, 1e-15);
    EXPECT_NEAR(average_precision({1, 1, 1, 1}, {true, false, false, false}), 0.25, 1e-15);
    EXPECT_NEAR(average_precision({2, 1, 1, 0}, {false, true, true, false}), 2.0 / 3, 1e-15);
    EXPECT_EQ(average_precision({1, 2}, {false, false}), 0);
    EXPECT_EQ(average_precision({}, {}), 0);
}

TEST(PileupEvents, AreTheSameOnAnyNumberOfRanks) {
    const pileup::EventShape shape{3000, 40};
    std::vector<pileup::Particle> mine = pileup::read_events(MPI_COMM_WORLD, 7, 3, shape);
    const std::vector<std::vector<pileup::Particle>> to(std::size_t(size_of(MPI_COMM_WORLD)), mine);
    const auto all = exchange_rows(MPI_COMM_WORLD, to);
    const auto whole = pileup::read_events(MPI_COMM_SELF, 7, 3, shape);
    ASSERT_EQ(all.size(), whole.size());
    int64_t n_primary = 0, n_charged = 0, n_from_vertex = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
        EXPECT_EQ(all[i].id, int64_t(i));
        EXPECT_EQ(features_of(all[i]), features_of(whole[i]));
        EXPECT_LE(std::abs(all[i].eta), 2.5);
        EXPECT_LE(std::abs(all[i].phi), std::numbers::pi);
        EXPECT_GE(all[i].pt, 0.3);
        EXPECT_GE(all[i].energy, all[i].pt);
        EXPECT_EQ(all[i].vertex == 0, all[i].kind != pileup::charged);
        n_primary += all[i].is_primary;
        n_charged += all[i].kind == pileup::charged;
        n_from_vertex += all[i].is_primary && all[i].vertex > 0;
    }
    EXPECT_EQ(n_primary, 3 * 120);
    EXPECT_NEAR(double(n_charged), 0.6 * double(all.size()), 5 * std::sqrt(0.24 * 9000));
    EXPECT_GT(n_from_vertex, 3 * 120 * 0.5);
}

TEST(PileupScore, SumsOverTracksOfThePrimaryVertexNearby) {
    const auto particle = [](int32_t kind, double phi, double pt, double vertex) {
        pileup::Particle p{};
        p.kind = kind, p.phi = phi, p.pt = pt, p.vertex = vertex;
        return p;
    };
    // Across the end of the azimuth; a track of pile-up and a far one do not count.
    const double end = std::numbers::pi;
    const std::vector<double> sums = pileup::near_primaries(
        {particle(pileup::photon, -end + 0.1, 2, 0), particle(pileup::charged, end - 0.1, 3, 1),
         particle(pileup::charged, end - 0.1, 3, -1), particle(pileup::charged, 0, 3, 1),
         particle(pileup::photon, 0, 0.5, 0)});
    EXPECT_NEAR(sums[0], std::pow(3 / 0.2, 2), 1e-9);
    EXPECT_EQ(sums[1] + sums[2] + sums[3] + sums[4], 0);
}

TEST(PileupScore, IsOneForTheTruthOnAnyNumberOfRanks) {
    const pileup::EventShape shape{4000, 50};
    const auto score = [&](MPI_Comm comm) {
        const auto mine = pileup::read_events(comm, 11, 3, shape);
        std::vector<float> truth;
        for (const pileup::Particle& p : mine) truth.push_back(float(p.is_primary));
        return pileup::score_of(comm, mine, truth);
    };
    const pileup::Score mine = score(MPI_COMM_WORLD), whole = score(MPI_COMM_SELF);
    EXPECT_EQ(mine.model, 1);
    EXPECT_EQ(mine.n_scored, whole.n_scored);
    EXPECT_NEAR(mine.neighbors, whole.neighbors, 1e-12);
    EXPECT_NEAR(mine.share, whole.share, 1e-12);
    EXPECT_GT(mine.neighbors, 2 * mine.share);
}

}  // namespace
