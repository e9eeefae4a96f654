// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <fluid/grid.hpp>
#include <vector>

namespace inverse {

/// m x m pressure sensors in rows of cells, and their readings.
class Sensors {
public:
    PetscErrorCode create(const darcy::Grid& grid, PetscInt m);

    /// Stores readings of p with normal noise, whose standard deviation is `noise` times the
    /// largest pressure. The noise of a sensor is a function of (seed, sensor), so that it does not
    /// depend on the number of ranks. Collective.
    PetscErrorCode measure(Vec p, PetscReal noise, uint64_t seed);

    /// Computes the misfit, 1/2 of the sum of squares of r = (p - reading) / deviation over the
    /// sensors, and w, its derivative with respect to p. Collective.
    PetscErrorCode misfit(Vec p, PetscReal* misfit, Vec w) const;

    PetscInt size() const { return m_ * m_; }
    PetscReal deviation() const { return deviation_; }  ///< of the noise, in Pa

private:
    struct Sensor {
        PetscInt i, j;  // its cell
        PetscInt number;
        PetscReal reading;
    };
    const darcy::Grid* grid_ = nullptr;
    PetscInt m_ = 0;
    PetscReal deviation_ = 1;
    std::vector<Sensor> mine_;  // in cells of this rank
};

}  // namespace inverse
