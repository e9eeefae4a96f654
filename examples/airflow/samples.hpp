// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "surface.hpp"

namespace airflow {

/// Writes one body for training: `path`, a NumPy file of float32 [points][7] with position (m),
/// outward normal and pressure coefficient. Rank 0 gathers and writes. Collective.
PetscErrorCode write_sample(const std::string& path, const Surface& surface, Vec pressure);

}  // namespace airflow
