// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <vector>

#include "tracks.hpp"

namespace tracking {

/// Ranges of momentum (GeV), each up to the next; the last one is unbounded.
constexpr std::array<double, 6> momentum_bins = {0.3, 0.4, 0.6, 0.9, 1.5, 3};
std::size_t bin_of(double momentum);

/// Counts over all ranks.
struct Score {
    using Counts = std::array<int64_t, momentum_bins.size()>;
    Counts n_particle{};   ///< with min_hits or more, by their momentum
    Counts n_found{};      ///< of those: matched with a candidate
    Counts n_candidate{};  ///< with min_hits or more, by their fitted momentum
    Counts n_fake{};       ///< of those: matched with no particle
};

/// Computes the score. candidates: of collect(), with the labels of join(); particles: with the
/// true ones. Collective.
Score score_of(MPI_Comm comm, const std::vector<Track>& candidates,
               const std::vector<Track>& particles);

}  // namespace tracking
