// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <vector>

#include "detector.hpp"

namespace tracking {

/// The data of a sensor, and the true origin of the hit. Lengths in mm, angles in rad.
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
    double vertex;  ///< of the event, along the beam: estimated from the directions

    // The truth, used for scores only.
    int64_t particle;       ///< distinct in all events; -1: noise
    int32_t n_of_particle;  ///< number of hits of the particle
    double momentum;        ///< transverse, of the particle, GeV; 0 for noise
};

/// Parameters of an event.
struct EventShape {
    int64_t n_hit = 3000;  ///< approximate
    /// Number of simultaneous collisions of protons, along the beam: 1 is without pile-up.
    int64_t n_collision = 1;
    double noise = 0.05;       ///< fraction of the hits that belong to no particle
    double efficiency = 0.98;  ///< of a sensor for a particle that crosses it
};

/// A particle at its origin in a collision.
struct Particle {
    Helix helix;
    double momentum;  ///< transverse, GeV
    double eta;
    int charge;
};

/// Returns particle `number` of the event of a seed. Collisions have equal numbers of particles.
Particle particle_of(uint64_t seed, const EventShape& shape, int64_t number);

/// Returns the approximate number of particles for the hits.
int64_t n_particle_of(const EventShape& shape);
int64_t n_noise_of(const EventShape& shape);

/// Appends the hits of particle `number` of event `event` of seed `seed` to *hits.
void add_particle(uint64_t seed, const EventShape& shape, int64_t event, int64_t number,
                  std::vector<Hit>* hits);
/// Appends noise hit `number`, at a random position on the sensors.
void add_noise(uint64_t seed, const EventShape& shape, int64_t event, int64_t number,
               std::vector<Hit>* hits);

/// Returns the rank that reads out an azimuth in -pi .. pi: equal sectors.
int sector_of(double azimuth, int n_rank);

/// Returns the hits of events 0 .. n_event - 1 in this rank's sector, ordered by id. Event e has
/// seed first_seed + e. The hits of all ranks are the same on any number of ranks. Collective.
std::vector<Hit> read_events(MPI_Comm comm, uint64_t first_seed, int64_t n_event,
                             const EventShape& shape);

}  // namespace tracking
