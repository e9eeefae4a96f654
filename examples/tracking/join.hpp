// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "embedder.hpp"
#include "event.hpp"

namespace tracking {

/// Hits further apart in azimuth are not joined: a track of the least momentum turns by 0.4 on its
/// way out, as seen from the beam by 0.2.
constexpr double window_rad = 0.6;

/// Joins hits into groups. Two hits are near if they are of one event, on different layers, within
/// window_rad of each other in azimuth, and within the radius in the embedding. They are linked if
/// each is the nearest to the other of those on its layer, since a particle leaves one hit on a
/// layer; groups are what links connect. Returns for each of this rank's hits the least id of its
/// group, whose hits may lie on any ranks: the same groups on any number of ranks, if the embedding
/// has the same bits.
/// hits  those of this rank's sector, as read_events() gives them. Collective.
std::vector<int64_t> join(MPI_Comm comm, const std::vector<Hit>& hits, const Embedding& embedding,
                          double radius);

}  // namespace tracking
