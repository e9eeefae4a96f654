// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "pileup/particles.hpp"

namespace pileup {

/// Scores of rankings of the neutral particles above scored_pt. Particles of the primary collision
/// are wanted. Means over events.
struct Score {
    int64_t n_scored = 0;
    double model = 0;      ///< average precision of the predictions
    double neighbors = 0;  ///< of near_primaries()
    double share = 0;      ///< fraction of wanted ones: average precision of a random order
};

/// Returns the area below precision over recall, in steps: the sum over thresholds of (R_n -
/// R_(n-1)) P_n; equal scores are one threshold. 0 if no element is wanted.
double average_precision(const std::vector<double>& scores, const std::vector<bool>& is_wanted);

/// Returns, for each scored particle of an event, the sum of (pt / distance)^2 over the charged
/// particles from the primary vertex nearer than 0.4 in pseudorapidity and azimuth, as in PUPPI
/// (arXiv 1407.6013); 0 for the others.
std::vector<double> near_primaries(const std::vector<Particle>& event);

/// Computes the scores by one rank per event. probability [particles]. Collective.
Score score_of(MPI_Comm comm, const std::vector<Particle>& particles,
               const std::vector<float>& probability);

}  // namespace pileup
