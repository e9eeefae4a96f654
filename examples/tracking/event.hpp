// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <vector>

#include "detector.hpp"

namespace tracking {

/// Report of a sensor, and its origin. Lengths in mm, angles in rad.
struct Hit {
    int64_t id;     ///< distinct in all events
    int64_t event;  ///< 0, 1, ..
    int32_t layer;
    double radius, azimuth, z;
    double charge;  ///< collected, 1 on average for a path through a sensor head on
    double local_eta,
        local_phi;  ///< direction in the sensor's frame, from the shape of the cluster
    double size_along, size_across, size_depth;  ///< of the cluster
    double global_eta, global_phi;               ///< the direction in the frame of the detector

    // The truth, for scores only.
    int64_t particle;       ///< distinct in all events; -1: noise
    int32_t n_of_particle;  ///< hits that the particle has left
    double momentum;        ///< of the particle across the beam, GeV; 0 for noise
};

/// Parameters of an event.
struct EventShape {
    int64_t n_hit = 3000;      ///< about so many
    int64_t n_collision = 1;   ///< of protons at once, along the beam: 1 is without pile-up
    double noise = 0.05;       ///< share of the hits that belong to no particle
    double efficiency = 0.98;  ///< of a sensor for a particle that crosses it
};

/// A particle as it leaves a collision.
struct Particle {
    Helix helix;
    double momentum;  ///< across the beam, GeV
    double eta;
    int charge;
};

/// Particle `number` of the event of a seed. Collisions have equal shares of the particles.
Particle particle_of(uint64_t seed, const EventShape& shape, int64_t number);

/// About as many particles as the hits need.
int64_t n_particle_of(const EventShape& shape);
int64_t n_noise_of(const EventShape& shape);

/// Hits of particle `number` of event `event` of seed `seed`, added behind *hits.
void add_particle(uint64_t seed, const EventShape& shape, int64_t event, int64_t number,
                  std::vector<Hit>* hits);
/// Noise `number`, likewise: it lies anywhere on the sensors.
void add_noise(uint64_t seed, const EventShape& shape, int64_t event, int64_t number,
               std::vector<Hit>* hits);

/// The rank that reads out an azimuth in -pi .. pi: equal sectors.
int sector_of(double azimuth, int n_rank);

/// Hits of events 0 .. n_event - 1 in this rank's sector, ordered by id. Event e is that of seed
/// first_seed + e. The hits of all ranks are the same on any number of ranks. Collective.
std::vector<Hit> read_events(MPI_Comm comm, uint64_t first_seed, int64_t n_event,
                             const EventShape& shape);

}  // namespace tracking
