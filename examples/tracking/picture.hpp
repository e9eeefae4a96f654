// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tracks.hpp"

namespace tracking {

/// Draws the first event, seen along the beam: particles, and beside them candidates, from hit to
/// hit, colored by the logarithm of their momentum (0.3 to 10 GeV; the highest are drawn on top),
/// in a PNG file that rank 0 writes. Collective.
void write_picture(MPI_Comm comm, const std::string& path, const std::vector<Track>& particles,
                   const std::vector<Track>& candidates);

}  // namespace tracking
