// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "embedder.hpp"
#include "event.hpp"

namespace tracking {

constexpr double scored_momentum = 0.9;  ///< GeV, as in the paper of HEPT

/// Means over the hits of an event, then over the events. Hits of particles of min_hits or more
/// are scored; k is the number of the other hits of the particle. Of the hits of the event, nearest
/// first in the embedding and without the hit itself:
struct EmbeddingScore {
    double accuracy = 0;  ///< hits of the particle among the first k, divided by k
    /// Mean over the k hits of the fraction of hits of the particle up to each of them; 0 for a hit
    /// that is not among the nearest 64.
    double average_precision = 0;
    int64_t n_hit = 0;  ///< hits that are scored, of all events
};

/// Computes the scores of hits whose particle has a momentum above min_momentum (GeV), by one
/// rank per event. Events of more than 10,000 such hits are scored on a part of them. Collective.
EmbeddingScore embedding_score(MPI_Comm comm, const std::vector<Hit>& hits,
                               const Embedding& embedding, double min_momentum);

}  // namespace tracking
