// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "embedder.hpp"
#include "event.hpp"

namespace tracking {

/// Hits further apart in azimuth are not joined: a track of the smallest momentum turns by 0.4
/// within the detector, by 0.2 as seen from the beam.
constexpr double window_rad = 0.6;

/// Joins hits into groups. Two hits are near if they are of one event, on different layers, within
/// window_rad of each other in azimuth, and within the radius in the embedding. They are linked if
/// each is the nearest to the other on its layer, because a particle has one hit per layer; groups
/// are connected components of links. Returns for each of this rank's hits the smallest id of its
/// group, whose hits may be on any ranks. The groups are the same on any number of ranks, if the
/// embedding is bitwise identical.
/// hits  hits of this rank's sector, from read_events(). Collective.
std::vector<int64_t> join(MPI_Comm comm, const std::vector<Hit>& hits, const Embedding& embedding,
                          double radius);

}  // namespace tracking
