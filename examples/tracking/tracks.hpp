// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "event.hpp"

namespace tracking {

/// Particles and candidates with fewer hits do not count.
constexpr std::size_t least_hits = 4;

/// Hits that belong together, from the middle outwards.
struct Track {
    int64_t label = 0;
    std::vector<Hit> hits;
    double momentum = 0;    ///< across the beam, GeV: of the circle through beam and hits
    int64_t particle = -1;  ///< the one that it is matched with; -1: a fake
};

/// Tracks of hits with the same label, of least_hits hits or more; each lies on one rank, whatever
/// rank its hits are on, ordered by label. labels [hits]; hits of label -1 are left out.
/// Collective.
std::vector<Track> collect(MPI_Comm comm, const std::vector<Hit>& hits,
                           const std::vector<int64_t>& labels);

/// Labels of a perfect reconstruction: the particle of each hit, -1 for noise.
std::vector<int64_t> true_labels(const std::vector<Hit>& hits);

/// Momentum (GeV) of the circle through the beam and as near as it can to the hits.
double fitted_momentum(const std::vector<Hit>& hits);

/// The particle that has more than half of the hits, more than half of whose hits these are (double
/// majority), and that has least_hits; -1 if there is none.
int64_t matched_particle(const std::vector<Hit>& hits);

/// A number that stands for which hits are joined; the same on any number of ranks. Collective.
uint64_t fingerprint(MPI_Comm comm, const std::vector<Hit>& hits,
                     const std::vector<int64_t>& labels);

}  // namespace tracking
