// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "solver.hpp"

namespace shallow_water {

/// Invariants of the exact equations, as means over the sphere.
struct Budget {
    double depth_m = 0;
    double energy = 0;  ///< h |u|^2 / 2 + g h^2 / 2, in m^3/s^2
};

/// Computes the invariants of fields on the grid. The velocity comes from vorticity and divergence
/// by the solver's transforms. Bitwise identical on any number of ranks. Collective.
Budget budget_of(Solver& solver, const Fields& fields);

using PerField = std::array<double, n_field>;

/// Computes the relative L2 distance of each field to the truth, with the weights of quadrature and
/// after subtraction of `mean` (of the model card) from both. Bitwise identical on any number of
/// ranks. Collective.
PerField relative_l2(Solver& solver, const Fields& fields, const Fields& truth,
                     const PerField& mean);

}  // namespace shallow_water
