// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "settings.hpp"

namespace million {

/// Writes settings.samples, a data set for `surrogate train`: settings.n_plate plates, each solved
/// on a mesh of about n_point points, of which n_sample_point are stored, drawn at random; eight
/// samples per plate, one for each symmetry of its square. Each rank computes different plates.
/// Collective.
PetscErrorCode write_samples(MPI_Comm comm, const Settings& settings);

}  // namespace million
