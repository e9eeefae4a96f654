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
class Bands {
public:
    Bands() = default;
    Bands(const Grid& grid, std::vector<Range> of_rank)
        : grid_(grid), of_rank_(std::move(of_rank)) {}

    const Grid& grid() const { return grid_; }
    Range of(int rank) const { return of_rank_[static_cast<size_t>(rank)]; }
    int n_rank() const { return static_cast<int>(of_rank_.size()); }

    /// Adds who computes the rows [rows.begin, rows.end), whole.
    void add_wants(Range rows, std::vector<NeighborExchange::Want>& wants) const;

    /// Largest cost of a rank over the mean of all.
    double imbalance(std::span<const double> row_cost) const;

private:
    Grid grid_;
    std::vector<Range> of_rank_;
};

/// The bands whose largest cost is least, cut in the order in which the ranks of `domain` follow
/// each other from north to south, so that rows move as little as possible. row_cost (n_lat).
Bands balanced_bands(const Grid& grid, std::span<const double> row_cost,
                     const SphereDomain& domain);

/// The rows the solver gave to each rank; only if it gave whole rows.
Bands bands_of(const SphereDomain& domain);

/// Floating-point work of a row, in flops of a matrix product: pairs of attention and filters cost
/// more than their flops, points of the other layers what their flops say.
struct RowWork {
    double point_flops = 0;  ///< a point
    double pair_flops = 0;   ///< a pair of the stencil
};

}  // namespace surrogate::impl::sphere
