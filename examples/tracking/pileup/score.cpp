// SPDX-License-Identifier: Apache-2.0
#include "pileup/score.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "exchange.hpp"

namespace pileup {

namespace {

struct Scored {
    Particle particle;
    double probability;
};

/// Returns the particles of the events that this rank scores, by event and id. Collective.
std::vector<Scored> events_of(MPI_Comm comm, const std::vector<Particle>& particles,
                              const std::vector<float>& probability) {
    std::vector<Scored> rows;
    for (std::size_t i = 0; i < particles.size(); ++i)
        rows.push_back({particles[i], probability[i]});
    return tracking::rows_by_event(
        comm, rows, [](const Scored& row) { return row.particle.event; },
        [](const Scored& row) { return row.particle.id; });
}

}  // namespace

double average_precision(const std::vector<double>& scores, const std::vector<bool>& is_wanted) {
    std::vector<std::size_t> order(scores.size());
    std::iota(order.begin(), order.end(), 0u);
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
    double n_wanted = 0, sum = 0;
    for (std::size_t i = 0; i < order.size();) {
        const double before = n_wanted, threshold = scores[order[i]];
        for (; i < order.size() && scores[order[i]] == threshold; ++i)
            n_wanted += is_wanted[order[i]];
        sum += (n_wanted - before) * n_wanted / double(i);
    }
    return n_wanted > 0 ? sum / n_wanted : 0;
}

std::vector<double> near_primaries(const std::vector<Particle>& event) {
    constexpr double radius = 0.4, least = 0.02;  // the measurement of directions
    std::vector<const Particle*> tracks;
    for (const Particle& particle : event)
        if (particle.kind == charged && particle.vertex > 0) tracks.push_back(&particle);
    std::vector<double> sums;
    for (const Particle& particle : event) {
        double& sum = sums.emplace_back(0);
        if (!is_scored(particle)) continue;
        for (const Particle* const track : tracks) {
            const double distance =
                std::hypot(track->eta - particle.eta,
                           std::remainder(track->phi - particle.phi, 2 * std::numbers::pi));
            if (distance > radius) continue;
            const double term = track->pt / std::max(distance, least);
            sum += term * term;
        }
    }
    return sums;
}

Score score_of(MPI_Comm comm, const std::vector<Particle>& particles,
               const std::vector<float>& probability) {
    const std::vector<Scored> mine = events_of(comm, particles, probability);
    double sums[5] = {};  // model, neighbors, share, events, particles
    for (auto first = mine.begin(); first != mine.end();) {
        const auto last = std::find_if(first, mine.end(), [&](const Scored& s) {
            return s.particle.event != first->particle.event;
        });
        std::vector<Particle> event;
        for (auto s = first; s != last; ++s) event.push_back(s->particle);
        const std::vector<double> near = near_primaries(event);
        std::vector<double> by_model, by_neighbors;
        std::vector<bool> is_wanted;
        for (std::size_t i = 0; i < event.size(); ++i) {
            if (!is_scored(event[i])) continue;
            by_model.push_back((first + std::ptrdiff_t(i))->probability);
            by_neighbors.push_back(near[i]);
            is_wanted.push_back(event[i].is_primary != 0);
        }
        first = last;
        const auto n_wanted = std::count(is_wanted.begin(), is_wanted.end(), true);
        if (n_wanted == 0) continue;
        sums[0] += average_precision(by_model, is_wanted);
        sums[1] += average_precision(by_neighbors, is_wanted);
        sums[2] += double(n_wanted) / double(is_wanted.size());
        sums[3] += 1;
        sums[4] += double(is_wanted.size());
    }
    MPI_Allreduce(MPI_IN_PLACE, sums, 5, MPI_DOUBLE, MPI_SUM, comm);
    const double n = std::max(1.0, sums[3]);
    return {int64_t(sums[4]), sums[0] / n, sums[1] / n, sums[2] / n};
}

}  // namespace pileup
