// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tracks.hpp"

namespace tracking {

/// Makes the directory of -output. Collective. Throws Stop on all ranks: it cannot be made.
void make_directory(MPI_Comm comm, const std::string& directory);

/// DIR/hits.pvd: points, a piece a rank, with event, particle, track (labels of join()), layer and
/// momentum. Collective.
void write_hits(MPI_Comm comm, const std::string& directory, const std::vector<Hit>& hits,
                const std::vector<int64_t>& labels);

/// DIR/tracks.pvd: polylines from hit to hit, a piece a rank, with event, momentum, number of hits
/// and whether the track is matched. Collective.
void write_tracks(MPI_Comm comm, const std::string& directory, const std::vector<Track>& tracks);

}  // namespace tracking
