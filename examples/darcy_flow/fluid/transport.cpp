// SPDX-License-Identifier: Apache-2.0
#include "transport.hpp"

#include <algorithm>
#include <cmath>

namespace darcy {

PetscErrorCode Transport::create(const Grid& grid) {
    PetscFunctionBegin;
    grid_ = &grid;
    PetscCall(box_.of(grid));
    PetscCall(grid.new_ghosted(&ghosted_a_));
    PetscCall(grid.new_ghosted(&ghosted_b_));
    flux_.resize(static_cast<std::size_t>(box_.size()));
    PetscFunctionReturn(0);
}

PetscErrorCode Transport::compute_fluxes(Vec mobility, Vec pressure) {
    PetscFunctionBegin;
    PetscCall(grid_->fill_ghosts(mobility, ghosted_a_));
    PetscCall(grid_->fill_ghosts(pressure, ghosted_b_));
    const CellsRead a(*grid_, ghosted_a_), p(*grid_, ghosted_b_);
    auto flux = flux_.begin();
    for (PetscInt j = box_.j0; j < box_.j1; ++j)
        for (PetscInt i = box_.i0; i < box_.i1; ++i, ++flux)
            for (int f = 0; f < 4; ++f) {
                const PetscInt k = i + faces[f].di, l = j + faces[f].dj;
                (*flux)[f] = is_inside(*grid_, k, l)
                                 ? transmissibility(a(i, j), a(k, l)) * (p(i, j) - p(k, l))
                                 : edge_transmissibility(a(i, j)) * p(i, j);
            }
    PetscFunctionReturn(0);
}

PetscErrorCode Transport::summarise(PetscReal dt, TransportReport* report) const {
    PetscFunctionBegin;
    const PetscReal volume = grid_->h * grid_->h;
    PetscReal edge = 0,
              largest[2] = {0, 0};  // outflow through the edges; largest imbalance of a cell
    auto flux = flux_.begin();
    for (PetscInt j = box_.j0; j < box_.j1; ++j)
        for (PetscInt i = box_.i0; i < box_.i1; ++i, ++flux) {
            PetscReal outflow = 0, sum = 0;
            for (int f = 0; f < 4; ++f) {
                outflow += std::max<PetscReal>((*flux)[f], 0);
                sum += (*flux)[f];
                if (!is_inside(*grid_, i + faces[f].di, j + faces[f].dj)) edge += (*flux)[f];
            }
            largest[0] = std::max(largest[0], outflow);
            largest[1] = std::max(largest[1], std::abs(sum - volume) / volume);
        }
    PetscCall(MPIU_Allreduce(MPI_IN_PLACE, &edge, 1, MPIU_REAL, MPIU_SUM, grid_->comm()));
    PetscCall(MPIU_Allreduce(MPI_IN_PLACE, largest, 2, MPIU_REAL, MPIU_MAX, grid_->comm()));
    // A sub-step moves at most half of the content of a cell.
    report->n_substep =
        std::max<PetscInt>(1, PetscInt(std::ceil(dt * largest[0] / (PetscReal(0.5) * volume))));
    report->imbalance = largest[1];
    report->left = dt * edge;
    report->injected = dt;
    PetscFunctionReturn(0);
}

PetscErrorCode Transport::substep(PetscReal dt, bool clip, Vec c, PetscReal* clipped) {
    PetscFunctionBegin;
    const PetscReal volume = grid_->h * grid_->h;
    PetscCall(grid_->fill_ghosts(c, ghosted_a_));
    const CellsRead old(*grid_, ghosted_a_);
    const Cells next(*grid_, c);
    auto flux = flux_.begin();
    for (PetscInt j = box_.j0; j < box_.j1; ++j)
        for (PetscInt i = box_.i0; i < box_.i1; ++i, ++flux) {
            PetscReal gain = volume;  // the injected fluid has c = 1
            for (int f = 0; f < 4; ++f) {
                const PetscInt k = i + faces[f].di, l = j + faces[f].dj;
                const bool own = (*flux)[f] > 0 || !is_inside(*grid_, k, l);
                gain -= (*flux)[f] * (own ? old(i, j) : old(k, l));
            }
            const PetscReal free = old(i, j) + dt / volume * gain;
            next(i, j) = clip ? std::clamp<PetscReal>(free, 0, 1) : free;
            *clipped += std::abs(next(i, j) - free) * volume;
        }
    PetscFunctionReturn(0);
}

PetscErrorCode Transport::step(PetscReal dt, Vec mobility, Vec pressure, bool clip, Vec c,
                               TransportReport* report) {
    PetscFunctionBegin;
    PetscCall(compute_fluxes(mobility, pressure));
    PetscCall(summarise(dt, report));
    report->clipped = 0;
    for (PetscInt s = 0; s < report->n_substep; ++s)
        PetscCall(substep(dt / report->n_substep, clip, c, &report->clipped));
    PetscCall(
        MPIU_Allreduce(MPI_IN_PLACE, &report->clipped, 1, MPIU_REAL, MPIU_SUM, grid_->comm()));
    PetscFunctionReturn(0);
}

}  // namespace darcy
