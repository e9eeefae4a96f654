// SPDX-License-Identifier: Apache-2.0
#include "sensors.hpp"

#include <fluid/random.hpp>

namespace inverse {

namespace {

/// Index of the noise among the random numbers of a seed; the waves of its fluid are far below.
constexpr uint64_t of_noise = uint64_t{1} << 62;

}  // namespace

PetscErrorCode Sensors::create(const darcy::Grid& grid, PetscInt m) {
    PetscFunctionBegin;
    grid_ = &grid;
    m_ = m;
    darcy::Box box;
    PetscCall(box.of(grid));
    for (PetscInt l = 0; l < m; ++l)
        for (PetscInt k = 0; k < m; ++k) {
            const PetscInt i = (2 * k + 1) * grid.n / (2 * m), j = (2 * l + 1) * grid.n / (2 * m);
            if (i >= box.i0 && i < box.i1 && j >= box.j0 && j < box.j1)
                mine_.push_back({i, j, l * m + k, 0});
        }
    PetscFunctionReturn(0);
}

PetscErrorCode Sensors::measure(Vec p, PetscReal noise, uint64_t seed) {
    PetscFunctionBegin;
    PetscReal largest = 0;
    PetscCall(VecMax(p, nullptr, &largest));
    deviation_ = noise * largest;
    const darcy::CellsRead pressure(*grid_, p);
    for (Sensor& s : mine_)
        s.reading = pressure(s.i, s.j) +
                    deviation_ * darcy::normal(seed, of_noise + static_cast<uint64_t>(s.number));
    PetscFunctionReturn(0);
}

PetscErrorCode Sensors::misfit(Vec p, PetscReal* misfit, Vec w) const {
    PetscFunctionBegin;
    *misfit = 0;
    PetscCall(VecSet(w, 0));
    {
        const darcy::CellsRead pressure(*grid_, p);
        const darcy::Cells derivative(*grid_, w);
        for (const Sensor& s : mine_) {
            const PetscReal r = (pressure(s.i, s.j) - s.reading) / deviation_;
            derivative(s.i, s.j) = r / deviation_;
            *misfit += r * r / 2;
        }
    }
    PetscCall(MPIU_Allreduce(MPI_IN_PLACE, misfit, 1, MPIU_REAL, MPIU_SUM, grid_->comm()));
    PetscFunctionReturn(0);
}

}  // namespace inverse
