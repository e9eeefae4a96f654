// SPDX-License-Identifier: Apache-2.0
#include "initial.hpp"

#include <petscviewer.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "random.hpp"

namespace darcy {

namespace {

using std::numbers::pi;

/// Returns cos(pi k x) at the centers of cells first .. last - 1: (n_mode, last - first).
std::vector<double> cosines(PetscInt n_mode, double h, PetscInt first, PetscInt last) {
    std::vector<double> table;
    for (PetscInt k = 0; k < n_mode; ++k)
        for (PetscInt i = first; i < last; ++i)
            table.push_back(std::cos(pi * double(k) * (double(i) + 0.5) * h));
    return table;
}

/// Returns g on the cells of the box, [j][i]. Sums run over all modes in the same order on any
/// rank.
std::vector<double> field(const Grid& grid, const Box& box, uint64_t seed) {
    const PetscInt n_mode = 2 * grid.n, width = box.width(), height = box.j1 - box.j0;
    const std::vector<double> in_x = cosines(n_mode, grid.h, box.i0, box.i1);
    const std::vector<double> in_y = cosines(n_mode, grid.h, box.j0, box.j1);
    std::vector<double> g(static_cast<std::size_t>(box.size()));
    std::vector<double> row(static_cast<std::size_t>(height));  // sum over l for one k
    for (PetscInt k = 0; k < n_mode; ++k) {
        std::fill(row.begin(), row.end(), 0.0);
        for (PetscInt l = 0; l < n_mode; ++l) {
            const double z = normal(seed, uint64_t(k) << 32 | uint64_t(l));
            const double coefficient = z / (pi * pi * (double(k) * k + double(l) * l) + 9);
            for (PetscInt j = 0; j < height; ++j) row[j] += coefficient * in_y[l * height + j];
        }
        for (PetscInt j = 0; j < height; ++j)
            for (PetscInt i = 0; i < width; ++i) g[j * width + i] += row[j] * in_x[k * width + i];
    }
    return g;
}

}  // namespace

PetscErrorCode random_fluid(const Grid& grid, uint64_t seed, Vec c) {
    PetscFunctionBegin;
    Box box;
    PetscCall(box.of(grid));
    const std::vector<double> g = field(grid, box, seed);
    double sums[2] = {0, 0};  // of g and g^2
    for (double value : g) sums[0] += value, sums[1] += value * value;
    PetscCall(MPIU_Allreduce(MPI_IN_PLACE, sums, 2, MPI_DOUBLE, MPI_SUM, grid.comm()));
    const double n_cell = double(grid.n) * double(grid.n), mean = sums[0] / n_cell;
    const double deviation = std::sqrt(sums[1] / n_cell - mean * mean);
    const double widths[3] = {0.02, 0.1, 0.3};
    const double width = widths[int(3 * uniform(seed, ~uint64_t{0}))];
    const Cells value(grid, c);
    for (PetscInt j = box.j0; j < box.j1; ++j)
        for (PetscInt i = box.i0; i < box.i1; ++i) {
            const double level = g[(j - box.j0) * box.width() + i - box.i0] / deviation / width;
            value(i, j) = 1 / (1 + std::exp(-std::clamp(level, -50.0, 50.0)));
        }
    PetscFunctionReturn(0);
}

PetscErrorCode read_fluid(const Grid& grid, const char* path, Vec c) {
    PetscFunctionBegin;
    Owner<PetscViewer, PetscViewerDestroy> file;
    PetscCall(PetscViewerBinaryOpen(grid.comm(), path, FILE_MODE_READ, file.out()));
    PetscCall(VecLoad(c, file));
    PetscFunctionReturn(0);
}

}  // namespace darcy
