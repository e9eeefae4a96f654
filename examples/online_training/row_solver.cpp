// SPDX-License-Identifier: Apache-2.0
#include "row_solver.hpp"

#include <cmath>

namespace darcy {

namespace {

constexpr double tolerance = 1e-8;

}  // namespace

PetscErrorCode RowSolver::create(const Grid& grid) {
    PetscFunctionBegin;
    grid_ = &grid;
    PetscCall(box_.of(grid));
    PetscCall(grid.new_vec(&global_));
    PetscCall(grid.new_ghosted(&ghosted_));
    PetscMPIInt size = 1;
    PetscCallMPI(MPI_Comm_size(grid.comm(), &size));
    n_row_.resize(std::size_t(size));
    first_row_.resize(std::size_t(size));
    const int own[2] = {int(box_.j1 - box_.j0), int(box_.j0)};
    PetscCallMPI(MPI_Allgather(&own[0], 1, MPI_INT, n_row_.data(), 1, MPI_INT, grid.comm()));
    PetscCallMPI(MPI_Allgather(&own[1], 1, MPI_INT, first_row_.data(), 1, MPI_INT, grid.comm()));
    row_sums_.resize(std::size_t(own[0]));
    all_sums_.resize(std::size_t(grid.n));
    const auto n = std::size_t(box_.size());
    faces_.resize(4 * n);
    for (CellValues* values : {&diagonal_, &r_, &z_, &d_, &q_}) values->resize(n);
    PetscFunctionReturn(0);
}

PetscErrorCode RowSolver::to_vec(const CellValues& values, Vec vec) const {
    PetscFunctionBegin;
    const Cells cell(*grid_, vec);
    auto value = values.begin();
    for (PetscInt j = box_.j0; j < box_.j1; ++j)
        for (PetscInt i = box_.i0; i < box_.i1; ++i) cell(i, j) = *value++;
    PetscFunctionReturn(0);
}

PetscErrorCode RowSolver::from_vec(Vec vec, CellValues* values) const {
    PetscFunctionBegin;
    values->resize(std::size_t(box_.size()));
    const CellsRead cell(*grid_, vec);
    auto value = values->begin();
    for (PetscInt j = box_.j0; j < box_.j1; ++j)
        for (PetscInt i = box_.i0; i < box_.i1; ++i) *value++ = cell(i, j);
    PetscFunctionReturn(0);
}

PetscErrorCode RowSolver::dot(const CellValues& x, const CellValues& y, double* sum) {
    PetscFunctionBegin;
    const auto width = std::size_t(box_.width());
    for (std::size_t j = 0; j < row_sums_.size(); ++j) {
        row_sums_[j] = 0;
        for (std::size_t i = j * width; i < (j + 1) * width; ++i) row_sums_[j] += x[i] * y[i];
    }
    PetscCallMPI(MPI_Allgatherv(row_sums_.data(), int(row_sums_.size()), MPI_DOUBLE,
                                all_sums_.data(), n_row_.data(), first_row_.data(), MPI_DOUBLE,
                                grid_->comm()));
    *sum = 0;
    for (const double row : all_sums_) *sum += row;
    PetscFunctionReturn(0);
}

PetscErrorCode RowSolver::set_mobility(const CellValues& mobility) {
    PetscFunctionBegin;
    PetscCall(to_vec(mobility, global_));
    PetscCall(grid_->fill_ghosts(global_, ghosted_));
    const CellsRead a(*grid_, ghosted_);
    std::size_t cell = 0;
    for (PetscInt j = box_.j0; j < box_.j1; ++j)
        for (PetscInt i = box_.i0; i < box_.i1; ++i, ++cell) {
            diagonal_[cell] = 0;
            for (std::size_t f = 0; f < 4; ++f) {
                const PetscInt k = i + faces[f].di, l = j + faces[f].dj;
                const bool is_edge = !is_inside(*grid_, k, l);
                const double t =
                    is_edge ? edge_transmissibility(a(i, j)) : transmissibility(a(i, j), a(k, l));
                diagonal_[cell] += t;
                faces_[4 * cell + f] = is_edge ? 0 : t;
            }
        }
    PetscFunctionReturn(0);
}

PetscErrorCode RowSolver::multiply(const CellValues& x, CellValues* y) {
    PetscFunctionBegin;
    PetscCall(to_vec(x, global_));
    PetscCall(grid_->fill_ghosts(global_, ghosted_));
    const CellsRead p(*grid_, ghosted_);
    std::size_t cell = 0;
    for (PetscInt j = box_.j0; j < box_.j1; ++j)
        for (PetscInt i = box_.i0; i < box_.i1; ++i, ++cell) {
            double sum = diagonal_[cell] * p(i, j);
            for (std::size_t f = 0; f < 4; ++f)
                if (faces_[4 * cell + f] != 0)
                    sum -= faces_[4 * cell + f] * p(i + faces[f].di, j + faces[f].dj);
            (*y)[cell] = sum;
        }
    PetscFunctionReturn(0);
}

PetscErrorCode RowSolver::solve(const CellValues& mobility, CellValues* pressure,
                                PetscInt* n_iteration) {
    PetscFunctionBegin;
    const double source = grid_->h * grid_->h, norm_b = source * double(grid_->n);
    PetscCall(set_mobility(mobility));
    PetscCall(multiply(*pressure, &q_));
    for (std::size_t i = 0; i < r_.size(); ++i) r_[i] = source - q_[i];
    double rz_before = 1;
    for (*n_iteration = 0;; ++*n_iteration) {
        double rr = 0, rz = 0, dq = 0;
        PetscCall(dot(r_, r_, &rr));
        if (std::sqrt(rr) <= tolerance * norm_b) break;
        PetscCheck(*n_iteration < 100 * grid_->n && std::isfinite(rr), grid_->comm(),
                   PETSC_ERR_NOT_CONVERGED, "conjugate gradients do not converge");
        for (std::size_t i = 0; i < r_.size(); ++i) z_[i] = r_[i] / diagonal_[i];
        PetscCall(dot(r_, z_, &rz));
        const double beta = *n_iteration == 0 ? 0 : rz / rz_before;
        for (std::size_t i = 0; i < r_.size(); ++i) d_[i] = z_[i] + (beta == 0 ? 0 : beta * d_[i]);
        PetscCall(multiply(d_, &q_));
        PetscCall(dot(d_, q_, &dq));
        const double alpha = rz / dq;
        for (std::size_t i = 0; i < r_.size(); ++i) {
            (*pressure)[i] += alpha * d_[i];
            r_[i] -= alpha * q_[i];
        }
        rz_before = rz;
    }
    PetscFunctionReturn(0);
}

}  // namespace darcy
