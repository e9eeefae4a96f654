// SPDX-License-Identifier: Apache-2.0
#include "score.hpp"

#include <algorithm>

namespace tracking {

namespace {

/// Returns the true momentum of the particle of a matched track.
double true_momentum(const Track& track) {
    const auto hit = std::find_if(track.hits.begin(), track.hits.end(),
                                  [&](const Hit& h) { return h.particle == track.particle; });
    return hit->momentum;
}

}  // namespace

std::size_t bin_of(double momentum) {
    const auto above = std::upper_bound(momentum_bins.begin(), momentum_bins.end(), momentum);
    return std::size_t(std::max<std::ptrdiff_t>(1, above - momentum_bins.begin()) - 1);
}

Score score_of(MPI_Comm comm, const std::vector<Track>& candidates,
               const std::vector<Track>& particles) {
    Score score;
    for (const Track& track : particles) ++score.n_particle[bin_of(track.hits[0].momentum)];
    for (const Track& track : candidates) {
        const std::size_t fitted = bin_of(track.momentum);
        ++score.n_candidate[fitted];
        if (track.particle >= 0)
            ++score.n_found[bin_of(true_momentum(track))];
        else
            ++score.n_fake[fitted];
    }
    for (Score::Counts* counts :
         {&score.n_particle, &score.n_found, &score.n_candidate, &score.n_fake})
        MPI_Allreduce(MPI_IN_PLACE, counts->data(), static_cast<int>(counts->size()), MPI_INT64_T,
                      MPI_SUM, comm);
    return score;
}

}  // namespace tracking
