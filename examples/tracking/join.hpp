// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "embedder.hpp"
#include "event.hpp"

namespace tracking {

/// Hits further apart in azimuth are not joined: a track of the least momentum turns by 0.4 on its
/// way out, as seen from the beam by 0.2.
constexpr double window_rad = 0.6;

/// Joins hits into groups: two hits are linked if they are of one event, on different layers, nearer
/// in azimuth than window_rad, and nearer than the radius in the embedding; groups are what links
/// connect. Returns for each of this rank's hits the least id of its group, whose hits may lie on
/// any ranks: the same groups on any number of ranks, if the embedding has the same bits.
/// hits  those of this rank's sector, as read_events() gives them. Collective.
std::vector<int64_t> join(MPI_Comm comm, const std::vector<Hit>& hits, const Embedding& embedding,
                          double radius);

}  // namespace tracking
