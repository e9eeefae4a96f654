// SPDX-License-Identifier: Apache-2.0
#include "pileup/particles.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "exchange.hpp"
#include "random.hpp"

namespace pileup {

namespace {

using std::numbers::pi;
using tracking::Random, tracking::Stream;

constexpr double highest_eta = 2.5, highest_pt = 500, beam_mm = 50;
constexpr int64_t n_primary_jet = 4, jet_size = 20, n_primary = 120;  // 40 outside of jets

/// The axis of a jet. pt 0: there is none.
struct Jet {
    double eta, phi, pt;
};

double wrapped(double angle) {
    return std::remainder(angle, 2 * pi);
}

/// Returns a number of a power law from `least` on.
double power_law(double u, double least, double power) {
    return std::min(highest_pt, least * std::pow(1 - u, -1 / power));
}

Jet jet_of(uint64_t seed, int64_t number, double probability, double min_pt) {
    const auto u = Random(seed, Stream::jet, number).uniform(0);
    return {2 * (2 * u[0] - 1), pi * (2 * u[1] - 1),
            u[3] < probability ? power_law(u[2], min_pt, 4) : 0};
}

/// Three of five particles are charged, most others photons.
int32_t kind_of(double u) {
    constexpr std::array<double, 6> up_to = {0.6, 0.9, 0.94, 0.955, 0.985, 0.995};
    return int32_t(std::upper_bound(up_to.begin(), up_to.end(), u) - up_to.begin());
}

double mass_of(int32_t kind) {
    constexpr std::array<double, 7> mass = {0.14, 0, 0.498, 0.498, 0.94, 1.116, 1.315};
    return mass[std::size_t(kind)];
}

/// Measures where the track meets the beam; at_mm: of the collision, from the primary vertex.
double vertex_of(const Particle& particle, double at_mm, double normal) {
    const double error_mm = 0.05 * (1 + 1 / particle.pt) * std::cosh(particle.eta);
    return std::abs(at_mm + error_mm * normal) < 3 * error_mm ? 1 : -1;
}

}  // namespace

Particle particle_of(uint64_t seed, const EventShape& shape, int64_t event, int64_t number) {
    const Random random(seed, Stream::particle, number);
    const auto u = random.uniform(0), n = random.normal(1);
    const bool is_primary = number < n_primary;
    // Collision 0 is the primary one. Its jets come first; the first particles of another collision
    // are its jet, if it has one.
    const int64_t of_pileup = number - n_primary;
    const int64_t collision = is_primary ? 0 : 1 + of_pileup % shape.n_pileup;
    const int64_t of_collision = is_primary ? number : of_pileup / shape.n_pileup;
    const auto beam = [&](int64_t c) {
        return beam_mm * Random(seed, Stream::collision, c).normal(0)[2];
    };
    Jet jet{};
    if (is_primary && number < n_primary_jet * jet_size)
        jet = jet_of(seed, number / jet_size, 1, 30);
    else if (!is_primary && of_collision < jet_size)
        jet = jet_of(seed, n_primary_jet + collision, 0.2, 15);

    Particle particle{};
    particle.id = event * shape.n_particle + number;
    particle.event = event;
    particle.is_primary = is_primary;
    particle.kind = kind_of(u[0]);
    if (jet.pt > 0) {
        // Fractions of the jet fall exponentially; harder particles are nearer to the axis.
        const double fraction = -std::log(u[1]) / double(jet_size);
        particle.pt = std::max(0.3, jet.pt * fraction);
        const double width = std::min(0.4, 0.3 / std::sqrt(particle.pt));
        particle.eta = std::clamp(jet.eta + width * n[0], -highest_eta, highest_eta);
        particle.phi = wrapped(jet.phi + width * n[1]);
    } else {
        particle.pt = power_law(u[1], 0.3, is_primary ? 2 : 2.6);
        particle.eta = highest_eta * (2 * u[2] - 1);
        particle.phi = pi * (2 * u[3] - 1);
    }
    particle.energy = std::hypot(particle.pt * std::cosh(particle.eta), mass_of(particle.kind));
    if (particle.kind == charged)
        particle.vertex = vertex_of(particle, is_primary ? 0 : beam(collision) - beam(0), n[2]);
    return particle;
}

std::vector<Particle> read_events(MPI_Comm comm, uint64_t first_seed, int64_t n_event,
                                  const EventShape& shape) {
    const tracking::LocalRange mine(comm, n_event * shape.n_particle);
    std::vector<Particle> particles;
    for (int64_t i = mine.first; i < mine.last; ++i) {
        const int64_t event = i / shape.n_particle;
        particles.push_back(
            particle_of(first_seed + uint64_t(event), shape, event, i % shape.n_particle));
    }
    return particles;
}

}  // namespace pileup
