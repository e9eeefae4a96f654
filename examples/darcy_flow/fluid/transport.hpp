// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <vector>

#include "grid.hpp"

namespace darcy {

/// Results of a transport step, over all ranks. Volumes in m^2 (the square has depth 1, which is
/// omitted).
struct TransportReport {
    PetscInt n_substep = 0;
    PetscReal injected = 0;  ///< volume of injected fluid
    PetscReal left =
        0;  ///< volume of both fluids that left through the edges; equal to injected if p is exact
    PetscReal clipped = 0;  ///< volume of c added or removed by clipping
    PetscReal imbalance =
        0;  ///< largest |sum of fluxes out of a cell - h^2| / h^2: 0 if p is exact
};

/// Solves dc/dt + div(u c) = 1, u = -a grad p, by an explicit upwind scheme with as many sub-steps
/// as stability requires.
class Transport {
public:
    PetscErrorCode create(const Grid& grid);

    /// Advances c by dt with the velocity of (mobility, pressure). clip: keep c in [0, 1]. An exact
    /// pressure keeps c in this range; a surrogate's pressure does not exactly, because its fluxes
    /// are not exactly conservative.
    PetscErrorCode step(PetscReal dt, Vec mobility, Vec pressure, bool clip, Vec c,
                        TransportReport* report);

private:
    PetscErrorCode compute_fluxes(Vec mobility, Vec pressure);
    PetscErrorCode summarise(PetscReal dt, TransportReport* report) const;
    PetscErrorCode substep(PetscReal dt, bool clip, Vec c, PetscReal* clipped);

    const Grid* grid_ = nullptr;
    Box box_;
    OwnedVec ghosted_a_, ghosted_b_;
    std::vector<std::array<PetscReal, 4>>
        flux_;  ///< outgoing flux of each cell of the box, through each of its faces
};

}  // namespace darcy
