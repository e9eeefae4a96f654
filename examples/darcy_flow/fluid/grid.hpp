// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <petscdmda.h>

#include "owner.hpp"

namespace darcy {

using OwnedVec = Owner<Vec, VecDestroy>;

/// The unit square in n x n cells of width h, distributed over the ranks by a DMDA with one ghost
/// cell on each side. Cell (i, j) has its center at ((i + 1/2) h, (j + 1/2) h), which is its
/// coordinate in the DMDA. Arrays are [j][i].
struct Grid {
    PetscInt n = 0;
    PetscReal h = 0;
    Owner<DM, DMDestroy> da;

    /// Creates the grid. in_rows: every rank has whole rows j, instead of blocks. Collective.
    PetscErrorCode create(MPI_Comm comm, PetscInt n_cell, bool in_rows = false);
    PetscErrorCode new_vec(OwnedVec* vec) const;
    /// Creates a vector with ghost cells; there are no ghost values outside the square.
    PetscErrorCode new_ghosted(OwnedVec* vec) const;
    PetscErrorCode fill_ghosts(Vec from, Vec ghosted) const;
    MPI_Comm comm() const { return PetscObjectComm(reinterpret_cast<PetscObject>(DM(da))); }
};

/// Values of a DMDA vector as [j][i] for the lifetime of the view.
class CellsRead {
public:
    CellsRead(const Grid& grid, Vec vec) : grid_(grid), vec_(vec) {
        valid_ = DMDAVecGetArrayRead(grid.da, vec, &at_) == 0;
    }
    ~CellsRead() {
        if (valid_) std::ignore = DMDAVecRestoreArrayRead(grid_.da, vec_, &at_);
    }
    CellsRead(const CellsRead&) = delete;
    CellsRead& operator=(const CellsRead&) = delete;
    PetscScalar operator()(PetscInt i, PetscInt j) const { return at_[j][i]; }

private:
    const Grid& grid_;
    Vec vec_;
    const PetscScalar** at_ = nullptr;
    bool valid_ = false;
};

class Cells {
public:
    Cells(const Grid& grid, Vec vec) : grid_(grid), vec_(vec) {
        valid_ = DMDAVecGetArray(grid.da, vec, &at_) == 0;
    }
    ~Cells() {
        if (valid_) std::ignore = DMDAVecRestoreArray(grid_.da, vec_, &at_);
    }
    Cells(const Cells&) = delete;
    Cells& operator=(const Cells&) = delete;
    PetscScalar& operator()(PetscInt i, PetscInt j) const { return at_[j][i]; }

private:
    const Grid& grid_;
    Vec vec_;
    PetscScalar** at_ = nullptr;
    bool valid_ = false;
};

/// Cells i0 <= i < i1, j0 <= j < j1 of this rank.
struct Box {
    PetscInt i0 = 0, i1 = 0, j0 = 0, j1 = 0;
    PetscErrorCode of(const Grid& grid);
    PetscInt width() const { return i1 - i0; }
    PetscInt size() const { return (i1 - i0) * (j1 - j0); }
};

/// The four faces of a cell: the offset of the neighbor. A neighbor outside the square means the
/// edge, where p = 0.
struct Face {
    PetscInt di, dj;
};
inline constexpr Face faces[4] = {{-1, 0}, {1, 0}, {0, -1}, {0, 1}};

inline bool is_inside(const Grid& grid, PetscInt i, PetscInt j) {
    return i >= 0 && i < grid.n && j >= 0 && j < grid.n;
}

/// Returns T of a face, whose flux is T (p_P - p_Q): harmonic mean of the mobilities, or half the
/// distance to the edge.
inline PetscReal transmissibility(PetscReal a_p, PetscReal a_q) {
    return 2 * a_p * a_q / (a_p + a_q);
}
inline PetscReal edge_transmissibility(PetscReal a_p) {
    return 2 * a_p;
}

/// Mobilities of the resident and of the injected fluid, in m^2/(Pa s).
struct Mobilities {
    PetscReal resident = 3, injected = 12;
};

/// Computes the mobility a = resident + (injected - resident) c of cells with concentration c.
PetscErrorCode mobility_of(const Mobilities& mobilities, Vec c, Vec a);

}  // namespace darcy
