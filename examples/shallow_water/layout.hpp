// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

namespace shallow_water {

/// The grid (legendre-gauss, rows north to south) and where the spherical harmonics are cut.
struct Resolution {
    int64_t n_lat = 64, n_lon = 128;
    int64_t n_degree = 22;  ///< degrees and orders 0 .. n_degree - 1
};

/// Distribution of the grid's rows and of the coefficients' orders m. A rank may have none of
/// either.
class Layout {
public:
    /// Rows in balanced bands from north to south. Throws std::invalid_argument for a resolution
    /// without a transform.
    Layout(MPI_Comm comm, const Resolution& resolution);
    /// Rows first_row[rank] .. first_row[rank + 1] - 1; first_row has an entry more than ranks.
    Layout(MPI_Comm comm, const Resolution& resolution, std::vector<int64_t> first_row);

    MPI_Comm comm() const { return comm_; }
    int rank() const { return rank_; }
    int size() const { return size_; }
    const Resolution& resolution() const { return resolution_; }

    int64_t first_row(int rank) const { return first_row_[static_cast<std::size_t>(rank)]; }
    int64_t n_row(int rank) const { return first_row(rank + 1) - first_row(rank); }
    int64_t first_row() const { return first_row(rank_); }
    int64_t n_row() const { return n_row(rank_); }
    /// Grid points of this rank.
    int64_t n_point() const { return n_row() * resolution_.n_lon; }

    /// Ascending. Orders m and n_degree - 1 - m lie together: the work of an order falls linearly
    /// with m, that of a pair is the same for all.
    const std::vector<int64_t>& orders(int rank) const {
        return orders_[static_cast<std::size_t>(rank)];
    }
    const std::vector<int64_t>& orders() const { return orders(rank_); }

    /// Sums over the sphere: per_row [n_row][n] of this rank's rows, added in ascending order of
    /// all rows, so that the result has the same bits on any number of ranks. Collective.
    std::vector<double> sum_rows(const std::vector<double>& per_row, int64_t n) const;

    /// A field [n_row][n_lon] of all ranks as [n_lat][n_lon] on rank 0, empty elsewhere.
    /// Collective.
    std::vector<double> gather_rows(const double* field) const;

private:
    /// Count and first of what every rank has, per_row numbers a row.
    void shares(int64_t per_row, std::vector<int>* count, std::vector<int>* at) const;

    MPI_Comm comm_;
    int rank_ = 0, size_ = 1;
    Resolution resolution_;
    std::vector<int64_t> first_row_;
    std::vector<std::vector<int64_t>> orders_;  // by rank
};

}  // namespace shallow_water
