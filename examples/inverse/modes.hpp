// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <petscmat.h>

#include <fluid/grid.hpp>

namespace inverse {

/// The unknown mobility as a function of few parameters theta:
///   a = a_resident + (a_injected - a_resident) / (1 + exp(-g / width))
///   g(x, y) = sum_{k, l < K} theta_kl s_kl cos(pi k x) cos(pi l y)
/// These are the K^2 longest waves of the random fluids of darcy_flow (fluid/initial.hpp), on which
/// the model was trained: s_kl is proportional to 1 / (pi^2 (k^2 + l^2) + 9), such that theta is
/// standard normal in the training data. The mobility is within its bounds for any theta.
class Modes {
public:
    PetscErrorCode create(const darcy::Grid& grid, PetscInt n_mode, PetscReal width,
                          const darcy::Mobilities& mobilities);
    /// Creates a vector of parameters, distributed over the ranks.
    PetscErrorCode new_parameters(darcy::OwnedVec* theta) const;
    /// Computes a(theta). Collective.
    PetscErrorCode mobility(Vec theta, Vec a);
    /// Computes dJ/dtheta = (da/dtheta)^T g at the last theta, g = dJ/da. Collective.
    PetscErrorCode pull_back(Vec g, Vec gradient);

private:
    PetscErrorCode fill(const darcy::Grid& grid, PetscInt n_mode, PetscReal width);

    darcy::Mobilities mobilities_;
    darcy::Owner<Mat, MatDestroy> basis_;  // rows are cells, columns are waves, divided by width
    darcy::OwnedVec level_, slope_;        // g / width and da / d(g / width)
};

}  // namespace inverse
