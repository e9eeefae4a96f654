// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

namespace shallow_water {

/// The grid (legendre-gauss, rows north to south) and the truncation of the spherical harmonics.
struct Resolution {
    int64_t n_lat = 64, n_lon = 128;
    int64_t n_degree = 22;  ///< degrees and orders 0 .. n_degree - 1
};

/// Partition of the rows of the grid and of the orders m of the coefficients over the ranks. A rank
/// may have none of either.
class Layout {
public:
    /// Partitions rows in balanced bands from north to south. Throws std::invalid_argument for a
    /// resolution without a transform.
    Layout(MPI_Comm comm, const Resolution& resolution);
    /// Uses rows first_row[rank] .. first_row[rank + 1] - 1; first_row has one entry more than
    /// there are ranks.
    Layout(MPI_Comm comm, const Resolution& resolution, std::vector<int64_t> first_row);

    MPI_Comm comm() const { return comm_; }
    int rank() const { return rank_; }
    int size() const { return size_; }
    const Resolution& resolution() const { return resolution_; }

    int64_t first_row(int rank) const { return first_row_[static_cast<std::size_t>(rank)]; }
    int64_t n_row(int rank) const { return first_row(rank + 1) - first_row(rank); }
    int64_t first_row() const { return first_row(rank_); }
    int64_t n_row() const { return n_row(rank_); }
    /// Returns the number of grid points of this rank.
    int64_t n_point() const { return n_row() * resolution_.n_lon; }

    /// Returns the orders of a rank, ascending. Orders m and n_degree - 1 - m are on one rank: the
    /// work of an order falls linearly with m, and is the same for all pairs.
    const std::vector<int64_t>& orders(int rank) const {
        return orders_[static_cast<std::size_t>(rank)];
    }
    const std::vector<int64_t>& orders() const { return orders(rank_); }

    /// Returns sums over the sphere: per_row [n_row][n] of this rank's rows, added in ascending
    /// order of all rows, so that the result is bitwise identical on any number of ranks.
    /// Collective.
    std::vector<double> sum_rows(const std::vector<double>& per_row, int64_t n) const;

    /// Gathers a field [n_row][n_lon] of all ranks as [n_lat][n_lon] on rank 0, empty elsewhere.
    /// Collective.
    std::vector<double> gather_rows(const double* field) const;

private:
    /// Returns count and first number of every rank, with per_row numbers per row.
    void shares(int64_t per_row, std::vector<int>* count, std::vector<int>* at) const;

    MPI_Comm comm_;
    int rank_ = 0, size_ = 1;
    Resolution resolution_;
    std::vector<int64_t> first_row_;
    std::vector<std::vector<int64_t>> orders_;  // by rank
};

}  // namespace shallow_water
