// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tracks.hpp"

namespace tracking {

/// Creates the directory of -output. Collective. Throws Stop on all ranks if this fails.
void make_directory(MPI_Comm comm, const std::string& directory);

/// Lets rank 0 write a file. Collective. Throws Stop on all ranks if `write` throws an error of the
/// library.
void write_on_root(MPI_Comm comm, const std::string& path, const std::function<void()>& write);

/// Writes DIR/hits.pvd: points, one piece per rank, with event, particle, track (labels of join()),
/// layer and momentum. Collective.
void write_hits(MPI_Comm comm, const std::string& directory, const std::vector<Hit>& hits,
                const std::vector<int64_t>& labels);

/// Writes DIR/tracks.pvd: polylines from hit to hit, one piece per rank, with event, momentum,
/// number of hits and whether the track is matched. Collective.
void write_tracks(MPI_Comm comm, const std::string& directory, const std::vector<Track>& tracks);

}  // namespace tracking
