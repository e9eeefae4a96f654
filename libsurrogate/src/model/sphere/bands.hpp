// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "libsurrogate/src/domain/sphere_domain.hpp"
#include "libsurrogate/src/model/sphere/config.hpp"
#include "libsurrogate/src/ranks/neighbor_exchange.hpp"
#include "libsurrogate/src/ranks/partition.hpp"

namespace surrogate::impl::sphere {

/// Whole rows of one grid, distributed over ranks: every rank computes one band of consecutive
/// rows, possibly none. All ranks know all bands.
///
/// Neighborhood attention of rows near a pole may be divided further: shares of queries are
/// consecutive in the order of (row, column). A row belongs to the band of the rank whose share has
/// its first column. Hence at most the first row of a share belongs to another band, and at most
/// the last row of a band has columns in other shares.
class Bands {
public:
    Bands() = default;
    /// shares (rank): points row * n_lon + column, or empty if no row is divided.
    Bands(const Grid& grid, std::vector<Range> of_rank, std::vector<Range> shares = {})
        : grid_(grid), of_rank_(std::move(of_rank)), shares_(std::move(shares)) {}

    const Grid& grid() const { return grid_; }
    Range of(int rank) const { return of_rank_[static_cast<size_t>(rank)]; }
    int n_rank() const { return static_cast<int>(of_rank_.size()); }

    bool is_divided() const { return !shares_.empty(); }
    /// Returns the points row * n_lon + column whose attention a rank computes.
    Range share_of(int rank) const;
    int64_t n_divided_row() const;

    /// Adds who computes the rows [rows.begin, rows.end), whole.
    void add_wants(Range rows, std::vector<NeighborExchange::Want>& wants) const;
    /// Adds the points of the share of `rank` that belong to other bands, by the ranks of these
    /// bands, in segments of at most tile_points columns. Rows count from first_row.
    void add_query_wants(int rank, int64_t first_row,
                         std::vector<NeighborExchange::Want>& wants) const;
    /// Adds the points of the band of `rank` that belong to other shares, in the same segments.
    void add_average_wants(int rank, std::vector<NeighborExchange::Want>& wants) const;

    /// Returns the largest cost of a rank over the mean of all. pair_cost (n_lat): the part of
    /// row_cost that follows shares; may be empty if no row is divided.
    double imbalance(std::span<const double> row_cost,
                     std::span<const double> pair_cost = {}) const;

private:
    Range points_of(Range rows) const { return {rows.begin * grid_.n_lon, rows.end * grid_.n_lon}; }

    Grid grid_;
    std::vector<Range> of_rank_, shares_;
};

/// The bands whose largest cost is least, cut in the order in which the ranks of `domain` follow
/// each other from north to south, so that rows move as little as possible. row_cost (n_lat).
Bands balanced_bands(const Grid& grid, std::span<const double> row_cost,
                     const SphereDomain& domain);

/// Balanced bands in which the pairs of heavy rows are divided: rows whose pair_cost exceeds half
/// of the mean cost of a rank may be cut at multiples of lane_count columns. The part of row_cost
/// that is not pair_cost stays with the rank of the row. No row is divided if none is as heavy.
/// row_cost, pair_cost (n_lat); order: all ranks from north to south.
Bands divided_bands(const Grid& grid, std::span<const double> row_cost,
                    std::span<const double> pair_cost, std::span<const int> order);

/// Returns the ranks from north to south by the middle of what they own; those that own nothing
/// come last.
std::vector<int> ranks_by_latitude(const SphereDomain& domain);

/// The rows the solver gave to each rank; only if it gave whole rows.
Bands bands_of(const SphereDomain& domain);

/// Floating-point work of a row, in flops of a matrix product: pairs of attention and filters cost
/// more than their flops, points of the other layers what their flops say.
struct RowWork {
    double point_flops = 0;  ///< a point
    double pair_flops = 0;   ///< a pair of the stencil
};

}  // namespace surrogate::impl::sphere
