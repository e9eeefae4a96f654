// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sphere/bands.hpp"

#include <algorithm>
#include <numeric>

namespace surrogate::impl::sphere {

void Bands::add_wants(Range rows, std::vector<NeighborExchange::Want>& wants) const {
    for (int rank = 0; rank < n_rank(); ++rank) {
        const Range wanted = intersection(rows, of(rank));
        for (int64_t row = wanted.begin; row < wanted.end; ++row)
            wants.push_back({rank, {row, 0, grid_.n_lon}});
    }
}

double Bands::imbalance(std::span<const double> row_cost) const {
    double largest = 0, total = 0;
    for (const Range& own : of_rank_) {
        double cost = 0;
        for (int64_t row = own.begin; row < own.end; ++row)
            cost += row_cost[static_cast<size_t>(row)];
        largest = std::max(largest, cost);
        total += cost;
    }
    return total > 0 ? largest * n_rank() / total : 1;
}

namespace {

/// Ends of the bands if every band takes rows as long as it stays within `limit`; false if rows are
/// left over.
bool fill(std::span<const double> row_cost, double limit, std::span<int64_t> end) {
    size_t row = 0;
    for (int64_t& e : end) {
        double cost = 0;
        while (row < row_cost.size() && cost + row_cost[row] <= limit) cost += row_cost[row++];
        e = static_cast<int64_t>(row);
    }
    return row == row_cost.size();
}

/// Ranks from north to south by the middle of what they own; those that own nothing come last.
std::vector<int> ranks_by_latitude(const SphereDomain& domain, int n_rank) {
    std::vector<int> order(static_cast<size_t>(n_rank));
    std::iota(order.begin(), order.end(), 0);
    const auto middle = [&](int rank) {
        const Range rows = domain.model_rows(rank);
        return rows.size() == 0 ? 2 * domain.grid().n_lat : rows.begin + rows.end;
    };
    std::ranges::sort(order, {}, [&](int rank) { return std::pair(middle(rank), rank); });
    return order;
}

}  // namespace

Bands balanced_bands(const Grid& grid, std::span<const double> row_cost,
                     const SphereDomain& domain) {
    const int n_rank = domain.context().comm().size();
    std::vector<int64_t> end(static_cast<size_t>(n_rank));
    double high = std::accumulate(row_cost.begin(), row_cost.end(), 0.0) * (1 + 1e-12);
    double low = *std::ranges::max_element(row_cost);
    if (fill(row_cost, low, end)) high = low;
    // Halving forty times settles the limit to a millionth of a row.
    for (int i = 0; i < 40 && high > low; ++i) {
        const double middle = (low + high) / 2;
        (fill(row_cost, middle, end) ? high : low) = middle;
    }
    fill(row_cost, high, end);
    std::vector<Range> of_rank(static_cast<size_t>(n_rank));
    int64_t begin = 0;
    size_t band = 0;
    for (const int rank : ranks_by_latitude(domain, n_rank)) {
        of_rank[static_cast<size_t>(rank)] = {begin, end[band]};
        begin = end[band++];
    }
    return {grid, std::move(of_rank)};
}

Bands bands_of(const SphereDomain& domain) {
    std::vector<Range> of_rank;
    for (int rank = 0; rank < domain.context().comm().size(); ++rank)
        of_rank.push_back(domain.model_rows(rank));
    return {domain.grid(), std::move(of_rank)};
}

}  // namespace surrogate::impl::sphere
