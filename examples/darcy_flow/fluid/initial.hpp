// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "grid.hpp"

namespace darcy {

/// Computes the initial concentration: c = 1 / (1 + exp(-g / w)), the softened level set of a
/// Gaussian random field
///   g(x, y) = sum_{k, l < 2n} z_kl / (pi^2 (k^2 + l^2) + 9) cos(pi k x) cos(pi l y)
/// divided by its standard deviation over the cells; w is 0.02, 0.1 or 0.3 with equal probability.
/// The normal numbers z_kl are a function of (seed, k, l), so the field does not depend on the
/// number of ranks. (The model was trained on the same distribution with numpy's generator, whose
/// stream differs, so seed 7 here is not numpy's seed 7.)
PetscErrorCode random_fluid(const Grid& grid, uint64_t seed, Vec c);

/// Reads c from a binary file of PETSc (VecView of a DMDA vector, or a PetscBinaryIO array in
/// natural order: i fastest).
PetscErrorCode read_fluid(const Grid& grid, const char* path, Vec c);

}  // namespace darcy
