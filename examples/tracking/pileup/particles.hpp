// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

namespace pileup {

/// Kinds in the order of HEPT's embedding of classes.
enum Kind : int32_t { charged, photon, k_long, k_short, neutron, lambda, xi };

/// A particle of an event, as a detector measures it, and its true origin.
struct Particle {
    int64_t id;     ///< distinct in all events
    int64_t event;  ///< 0, 1, ..
    double eta, phi;
    double pt, energy;  ///< GeV
    int32_t kind;
    /// 1: the track of a charged particle meets the beam at the primary vertex, within three
    /// deviations of its measurement; -1: elsewhere; 0: a neutral particle has no track.
    double vertex;
    int32_t is_primary;  ///< the truth
};

/// Parameters of an event.
struct EventShape {
    int64_t n_particle = 10000;
    int64_t n_pileup = 100;  ///< collisions beside the primary one
};

constexpr double scored_pt = 0.9;  ///< GeV, as in the paper of HEPT
/// Returns true for the particles that are classified: neutral ones above scored_pt.
inline bool is_scored(const Particle& particle) {
    return particle.kind != charged && particle.pt > scored_pt;
}

/// Returns particle `number` of the event of a seed.
Particle particle_of(uint64_t seed, const EventShape& shape, int64_t event, int64_t number);

/// Returns this rank's part of the particles of events 0 .. n_event - 1: equal ranges. Event e has
/// seed first_seed + e. Local.
std::vector<Particle> read_events(MPI_Comm comm, uint64_t first_seed, int64_t n_event,
                                  const EventShape& shape);

}  // namespace pileup
