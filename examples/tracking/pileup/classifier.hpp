// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "pileup/particles.hpp"

namespace pileup {

/// Results of the model for this rank's particles.
struct Prediction {
    std::vector<float> probability;  ///< of the primary collision; of scored particles
    double seconds_plan = 0, seconds_run = 0;
    std::string how;  ///< backend of the plan
};

/// Evaluates the model for all events; each is a cloud. Contains all calls of libsurrogate except
/// those for files. Collective. Throws surrogate::Error, the same on all ranks.
Prediction classify(MPI_Comm comm, const std::string& model, bool is_reproducible,
                    const std::vector<Particle>& particles);

}  // namespace pileup
