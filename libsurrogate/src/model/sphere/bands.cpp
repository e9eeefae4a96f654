// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/model/sphere/bands.hpp"

#include <algorithm>
#include <numeric>
#include <set>

namespace surrogate::impl::sphere {

void Bands::add_wants(Range rows, std::vector<NeighborExchange::Want>& wants) const {
    for (int rank = 0; rank < n_rank(); ++rank) {
        const Range wanted = intersection(rows, of(rank));
        for (int64_t row = wanted.begin; row < wanted.end; ++row)
            wants.push_back({rank, {row, 0, grid_.n_lon}});
    }
}

Range Bands::share_of(int rank) const {
    return is_divided() ? shares_[static_cast<size_t>(rank)] : points_of(of(rank));
}

int64_t Bands::n_divided_row() const {
    std::set<int64_t> rows;
    for (const Range& share : shares_)
        if (share.begin % grid_.n_lon > 0) rows.insert(share.begin / grid_.n_lon);
    return std::ssize(rows);
}

namespace {

/// Calls body(segment) for points of rows of n_lon columns, at most `width` columns at a time.
template <class Body>
void for_segments(Range points, int64_t n_lon, int64_t width, const Body& body) {
    while (points.size() > 0) {
        const int64_t row = points.begin / n_lon, first = points.begin % n_lon;
        const int64_t count = std::min({points.size(), n_lon - first, width});
        body(Segment{row, first, count});
        points.begin += count;
    }
}

}  // namespace

void Bands::add_query_wants(int rank, int64_t first_row,
                            std::vector<NeighborExchange::Want>& wants) const {
    for (int owner = 0; owner < n_rank(); ++owner) {
        if (owner == rank) continue;
        const Range points = intersection(share_of(rank), points_of(of(owner)));
        for_segments(points, grid_.n_lon, kernels::tile_points, [&](const Segment& s) {
            wants.push_back({owner, {first_row + s.row, s.first, s.count}});
        });
    }
}

void Bands::add_average_wants(int rank, std::vector<NeighborExchange::Want>& wants) const {
    for (int other = 0; other < n_rank(); ++other) {
        if (other == rank) continue;
        const Range points = intersection(share_of(other), points_of(of(rank)));
        for_segments(points, grid_.n_lon, kernels::tile_points, [&](const Segment& s) {
            wants.push_back({other, s});
        });
    }
}

double Bands::imbalance(std::span<const double> row_cost, std::span<const double> pair_cost) const {
    double largest = 0, total = 0;
    for (int rank = 0; rank < n_rank(); ++rank) {
        const Range own = of(rank);
        double cost = 0;
        for (int64_t row = own.begin; row < own.end; ++row) {
            const auto i = static_cast<size_t>(row);
            cost += is_divided() ? row_cost[i] - pair_cost[i] : row_cost[i];
        }
        if (is_divided()) {
            for_segments(share_of(rank), grid_.n_lon, grid_.n_lon, [&](const Segment& s) {
                cost += pair_cost[static_cast<size_t>(s.row)] * static_cast<double>(s.count) /
                        static_cast<double>(grid_.n_lon);
            });
        }
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

/// Rows of which some may be divided at multiples of lane_count columns.
struct DividedRows {
    int64_t n_lon;
    std::span<const double> row_cost, pair_cost;
    double heavy;  ///< rows with more pair_cost may be divided

    bool is_heavy(size_t row) const { return pair_cost[row] > heavy; }
    double column(size_t row) const { return pair_cost[row] / static_cast<double>(n_lon); }
    /// Least cost of the rank that begins a row.
    double least(size_t row) const {
        if (!is_heavy(row)) return row_cost[row];
        const auto width = static_cast<double>(std::min(n_lon, kernels::lane_count));
        return row_cost[row] - pair_cost[row] + width * column(row);
    }

    /// Ends of the shares, in points, if every share takes columns as long as it stays within
    /// `limit`; false if some are left over.
    bool fill(double limit, std::span<int64_t> end) const {
        size_t row = 0;
        int64_t taken = 0;  // columns of the row
        for (int64_t& e : end) {
            double cost = 0;
            while (row < row_cost.size()) {
                const double points = taken == 0 ? row_cost[row] - pair_cost[row] : 0;
                const int64_t n = fitting(row, n_lon - taken, limit - cost - points);
                if (n == 0) break;
                cost += points + static_cast<double>(n) * column(row);
                taken += n;
                if (taken < n_lon) break;
                taken = 0;
                ++row;
            }
            e = static_cast<int64_t>(row) * n_lon + taken;
        }
        return row == row_cost.size();
    }

    /// Columns, of the last `n` of a row, whose pairs cost at most `room`.
    int64_t fitting(size_t row, int64_t n, double room) const {
        if (static_cast<double>(n) * column(row) <= room) return n;
        if (!is_heavy(row)) return 0;
        return std::max(int64_t{0}, static_cast<int64_t>(room / column(row))) /
               kernels::lane_count * kernels::lane_count;
    }
};

/// Least limit, to a millionth of a row, with which fill(limit) is true: it is at `high`.
template <class Fill>
double least_limit(double low, double high, const Fill& fill) {
    if (fill(low)) return low;
    for (int i = 0; i < 40 && high > low; ++i) {
        const double middle = (low + high) / 2;
        (fill(middle) ? high : low) = middle;
    }
    return high;
}

}  // namespace

std::vector<int> ranks_by_latitude(const SphereDomain& domain) {
    std::vector<int> order(static_cast<size_t>(domain.context().comm().size()));
    std::iota(order.begin(), order.end(), 0);
    const auto middle = [&](int rank) {
        const Range rows = domain.model_rows(rank);
        return rows.size() == 0 ? 2 * domain.grid().n_lat : rows.begin + rows.end;
    };
    std::ranges::sort(order, {}, [&](int rank) { return std::pair(middle(rank), rank); });
    return order;
}

Bands balanced_bands(const Grid& grid, std::span<const double> row_cost,
                     const SphereDomain& domain) {
    const std::vector<int> order = ranks_by_latitude(domain);
    std::vector<int64_t> end(order.size());
    const double total = std::accumulate(row_cost.begin(), row_cost.end(), 0.0) * (1 + 1e-12);
    const double largest = *std::ranges::max_element(row_cost);
    fill(row_cost,
         least_limit(largest, total, [&](double limit) { return fill(row_cost, limit, end); }),
         end);
    std::vector<Range> of_rank(order.size());
    int64_t begin = 0;
    size_t band = 0;
    for (const int rank : order) {
        of_rank[static_cast<size_t>(rank)] = {begin, end[band]};
        begin = end[band++];
    }
    return {grid, std::move(of_rank)};
}

Bands divided_bands(const Grid& grid, std::span<const double> row_cost,
                    std::span<const double> pair_cost, std::span<const int> order) {
    const double total = std::accumulate(row_cost.begin(), row_cost.end(), 0.0);
    const DividedRows rows{grid.n_lon, row_cost, pair_cost,
                           total / static_cast<double>(order.size()) / 2};
    double largest = 0;
    for (size_t row = 0; row < row_cost.size(); ++row) largest = std::max(largest, rows.least(row));
    std::vector<int64_t> end(order.size());
    rows.fill(least_limit(largest, total * (1 + 1e-12),
                          [&](double limit) { return rows.fill(limit, end); }),
              end);
    std::vector<Range> of_rank(end.size()), shares(end.size());
    const auto row_from = [&](int64_t point) { return (point + grid.n_lon - 1) / grid.n_lon; };
    int64_t begin = 0;
    size_t share = 0;
    bool is_divided = false;
    for (const int rank : order) {
        const auto r = static_cast<size_t>(rank);
        shares[r] = {begin, end[share++]};
        of_rank[r] = {row_from(begin), row_from(shares[r].end)};
        is_divided |= begin % grid.n_lon > 0;
        begin = shares[r].end;
    }
    if (!is_divided) shares.clear();
    return {grid, std::move(of_rank), std::move(shares)};
}

Bands bands_of(const SphereDomain& domain) {
    std::vector<Range> of_rank;
    for (int rank = 0; rank < domain.context().comm().size(); ++rank)
        of_rank.push_back(domain.model_rows(rank));
    return {domain.grid(), std::move(of_rank)};
}

}  // namespace surrogate::impl::sphere
