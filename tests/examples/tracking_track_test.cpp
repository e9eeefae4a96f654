// SPDX-License-Identifier: Apache-2.0
// Checks tracks made from joined hits, the tracks counted as found, and errors of options.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <vector>

#include "score.hpp"
#include "settings.hpp"

namespace {

using namespace tracking;

/// Hits of a particle that no sensor misses or blurs.
std::vector<Hit> exact_hits(const Helix& helix, int64_t particle = 0) {
    std::vector<Hit> hits;
    for (std::size_t k = 0; k < n_layer; ++k)
        if (const auto length = layers[k].crossing(helix)) {
            const Position x = helix.at(*length);
            Hit hit{};
            hit.id = 32 * particle + int64_t(k);
            hit.layer = int32_t(k);
            hit.radius = std::hypot(x[0], x[1]);
            hit.azimuth = std::atan2(x[1], x[0]);
            hit.z = x[2];
            hit.particle = particle;
            hits.push_back(hit);
        }
    for (Hit& hit : hits) hit.n_of_particle = int32_t(hits.size());
    return hits;
}

TEST(TrackingTrack, MomentumIsThatOfItsCircle) {
    for (const double momentum : {0.3, 1.0, 20.0})
        for (const double azimuth : {0.2, 3.0, -1.6}) {
            const Helix helix{{0, 0, 20}, azimuth, 0.3, curvature_of(momentum, 1)};
            EXPECT_NEAR(fitted_momentum(exact_hits(helix)), momentum, 1e-6 * momentum);
        }
}

TEST(TrackingTrack, IsMatchedByDoubleMajorityOnly) {
    const Helix helix{{0, 0, 0}, 0.1, 0.1, curvature_of(1, 1)};
    const std::vector<Hit> whole = exact_hits(helix, 3);
    ASSERT_EQ(whole.size(), 6u);
    const auto first = [&](std::size_t n) {
        return std::vector<Hit>(whole.begin(), whole.begin() + n);
    };
    EXPECT_EQ(matched_particle(whole), 3);
    EXPECT_EQ(matched_particle(first(4)), 3);
    EXPECT_EQ(matched_particle(first(3)), -1);  // half of the particle
    std::vector<Hit> mixed = first(4);
    Hit noise{};
    noise.particle = -1;
    mixed.resize(7, noise);
    EXPECT_EQ(matched_particle(mixed), 3);
    mixed.resize(8, noise);
    EXPECT_EQ(matched_particle(mixed), -1);  // half of the candidate
    for (Hit& hit : mixed) hit = noise;
    EXPECT_EQ(matched_particle(mixed), -1);
}

TEST(TrackingScore, OfThePerfectReconstructionIsPerfect) {
    EventShape shape;
    shape.n_hit = 2000;
    const auto hits = read_events(MPI_COMM_WORLD, 4, 2, shape);
    const auto tracks = collect(MPI_COMM_WORLD, hits, true_labels(hits));
    const Score score = score_of(MPI_COMM_WORLD, tracks, tracks);
    EXPECT_EQ(score.n_found, score.n_particle);
    EXPECT_EQ(score.n_fake, Score::Counts{});
    // The same particles in one event on one rank, counted from their hits.
    const auto whole = read_events(MPI_COMM_SELF, 4, 2, shape);
    std::map<int64_t, const Hit*> particles;
    for (const Hit& hit : whole)
        if (hit.particle >= 0 && std::size_t(hit.n_of_particle) >= min_hits)
            particles[hit.particle] = &hit;
    Score::Counts expected{};
    for (const auto& [particle, hit] : particles) ++expected[bin_of(hit->momentum)];
    EXPECT_EQ(score.n_particle, expected);
}

TEST(TrackingScore, WithoutLinksNothingIsFound) {
    EventShape shape;
    shape.n_hit = 500;
    const auto hits = read_events(MPI_COMM_WORLD, 4, 1, shape);
    std::vector<int64_t> alone;
    for (const Hit& hit : hits) alone.push_back(hit.id);
    const auto candidates = collect(MPI_COMM_WORLD, hits, alone);
    const auto particles = collect(MPI_COMM_WORLD, hits, true_labels(hits));
    const Score score = score_of(MPI_COMM_WORLD, candidates, particles);
    EXPECT_EQ(score.n_found, Score::Counts{});
    EXPECT_EQ(score.n_candidate, Score::Counts{});
    EXPECT_NE(fingerprint(MPI_COMM_WORLD, hits, alone),
              fingerprint(MPI_COMM_WORLD, hits, true_labels(hits)));
}

TEST(TrackingScore, MomentaBelongToTheBinBelowThem) {
    EXPECT_EQ(bin_of(0.1), 0u);
    EXPECT_EQ(bin_of(0.4), 1u);
    EXPECT_EQ(bin_of(1.49), 3u);
    EXPECT_EQ(bin_of(100), momentum_bins.size() - 1);
}

TEST(TrackingSettings, AreRefusedInWords) {
    using Arguments = std::vector<std::string>;
    for (const Arguments& wrong : {Arguments{"-hits"},
                                   {"-hits", "5"},
                                   {"-hits", "1e4"},
                                   {"-noise", "nan"},
                                   {"-noise", "1"},
                                   {"-radius", "0"},
                                   {"-nothing"},
                                   {"-hits", "1000000", "-events", "1000"}})
        EXPECT_THROW(Settings::read(wrong), std::invalid_argument) << wrong[0];
    EXPECT_EQ(Settings::read({"-pileup", "20"}).shape.n_collision, 21);
}

}  // namespace
