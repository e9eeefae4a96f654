// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "event.hpp"

namespace tracking {

/// Particles and candidates with fewer hits are not counted.
constexpr std::size_t min_hits = 4;

/// Hits of one particle or candidate, from the middle outwards.
struct Track {
    int64_t label = 0;
    std::vector<Hit> hits;
    double momentum = 0;    ///< transverse, GeV: of the circle through beam and hits
    int64_t particle = -1;  ///< the matched particle; -1: a fake
};

/// Returns tracks of hits with the same label, of min_hits hits or more. Each is on one rank, for
/// any distribution of its hits, ordered by label. labels [hits]; hits of label -1 are left out.
/// Collective.
std::vector<Track> collect(MPI_Comm comm, const std::vector<Hit>& hits,
                           const std::vector<int64_t>& labels);

/// Returns the labels of a perfect reconstruction: the particle of each hit, -1 for noise.
std::vector<int64_t> true_labels(const std::vector<Hit>& hits);

/// Returns the momentum (GeV) of the circle through the beam that fits the hits best.
double fitted_momentum(const std::vector<Hit>& hits);

/// Returns the particle to which more than half of these hits belong, if they are more than half of
/// the particle's hits (double majority) and it has min_hits; -1 if there is none.
int64_t matched_particle(const std::vector<Hit>& hits);

/// Returns a hash of the groups of joined hits; the same on any number of ranks. Collective.
uint64_t fingerprint(MPI_Comm comm, const std::vector<Hit>& hits,
                     const std::vector<int64_t>& labels);

}  // namespace tracking
