// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "pileup/particles.hpp"

namespace pileup {

/// Draws the scored particles of the first event in the plane of pseudorapidity and azimuth, larger
/// ones with more momentum: the truth and beside it the probabilities of the model, in a PNG file
/// that rank 0 writes. Collective.
void write_picture(MPI_Comm comm, const std::string& path, const std::vector<Particle>& particles,
                   const std::vector<float>& probability);

}  // namespace pileup
