// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fluid/grid.hpp>
#include <vector>

namespace darcy {

/// Values of this rank's cells, [j][i], without ghosts.
using CellValues = std::vector<double>;

/// Solves for the pressure of a mobility by conjugate gradients with the diagonal as
/// preconditioner, on a grid in rows. Sums are computed row by row, and rows are added in ascending
/// order: iterations and pressures are bitwise identical on any number of ranks.
class RowSolver {
public:
    PetscErrorCode create(const Grid& grid);

    /// Iterates until |b - A p| <= 1e-8 |b|, from the values in `pressure`.
    PetscErrorCode solve(const CellValues& mobility, CellValues* pressure, PetscInt* n_iteration);

    /// Computes the sum over all cells of x y, bitwise identical on any number of ranks.
    /// Collective.
    PetscErrorCode dot(const CellValues& x, const CellValues& y, double* sum);

    PetscErrorCode to_vec(const CellValues& values, Vec vec) const;
    PetscErrorCode from_vec(Vec vec, CellValues* values) const;

private:
    PetscErrorCode set_mobility(const CellValues& mobility);
    PetscErrorCode multiply(const CellValues& x, CellValues* y);

    const Grid* grid_ = nullptr;
    Box box_;
    OwnedVec global_, ghosted_;
    std::vector<int> n_row_, first_row_;  // of all ranks
    std::vector<double> row_sums_, all_sums_;
    std::vector<double> faces_;  // (cell, 4): transmissibilities
    CellValues diagonal_, r_, z_, d_, q_;
};

}  // namespace darcy
