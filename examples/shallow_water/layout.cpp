// SPDX-License-Identifier: Apache-2.0
#include "layout.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace shallow_water {

namespace {

int size_of(MPI_Comm comm) {
    int size = 1;
    MPI_Comm_size(comm, &size);
    return size;
}

/// Returns the starts of a balanced partition of 0 .. n - 1, larger parts first; the last entry is
/// n.
std::vector<int64_t> balanced(int64_t n, int size) {
    std::vector<int64_t> start{0};
    for (int r = 0; r < size; ++r) start.push_back(start.back() + n / size + (r < n % size));
    return start;
}

std::vector<std::vector<int64_t>> deal_orders(int64_t n_degree, int size) {
    const std::vector<int64_t> pair = balanced((n_degree + 1) / 2, size);
    std::vector<std::vector<int64_t>> orders(static_cast<std::size_t>(size));
    for (std::size_t r = 0; r < orders.size(); ++r) {
        for (int64_t m = pair[r]; m < pair[r + 1]; ++m) orders[r].push_back(m);
        for (int64_t m = pair[r + 1] - 1; m >= pair[r]; --m)
            if (n_degree - 1 - m != m) orders[r].push_back(n_degree - 1 - m);
    }
    return orders;
}

void check_resolution(const Resolution& r) {
    if (r.n_lat < 2 || r.n_lon < 4 || r.n_degree < 2)
        throw std::invalid_argument("a grid needs at least 2 x 4 points and 2 degrees, got " +
                                    std::to_string(r.n_lat) + " x " + std::to_string(r.n_lon) +
                                    " and " + std::to_string(r.n_degree) + " degrees");
    const int64_t limit = std::min(r.n_lat, r.n_lon / 2 + 1);
    if (r.n_degree > limit)
        throw std::invalid_argument("a grid of " + std::to_string(r.n_lat) + " x " +
                                    std::to_string(r.n_lon) + " points resolves at most " +
                                    std::to_string(limit) + " degrees, got " +
                                    std::to_string(r.n_degree));
}

}  // namespace

Layout::Layout(MPI_Comm comm, const Resolution& resolution)
    : Layout(comm, resolution, balanced(std::max<int64_t>(resolution.n_lat, 0), size_of(comm))) {}

Layout::Layout(MPI_Comm comm, const Resolution& resolution, std::vector<int64_t> first_row)
    : comm_(comm), size_(size_of(comm)), resolution_(resolution), first_row_(std::move(first_row)) {
    check_resolution(resolution);
    if (first_row_.size() != static_cast<std::size_t>(size_) + 1 || first_row_.front() != 0 ||
        first_row_.back() != resolution.n_lat ||
        !std::is_sorted(first_row_.begin(), first_row_.end()))
        throw std::invalid_argument("bands of rows must ascend from 0 to " +
                                    std::to_string(resolution.n_lat) + ", one for each of " +
                                    std::to_string(size_) + " ranks");
    MPI_Comm_rank(comm, &rank_);
    orders_ = deal_orders(resolution.n_degree, size_);
}

void Layout::shares(int64_t per_row, std::vector<int>* count, std::vector<int>* at) const {
    for (int r = 0; r < size_; ++r) {
        count->push_back(static_cast<int>(n_row(r) * per_row));
        at->push_back(static_cast<int>(first_row(r) * per_row));
    }
}

std::vector<double> Layout::sum_rows(const std::vector<double>& per_row, int64_t n) const {
    std::vector<int> count, at;
    shares(n, &count, &at);
    std::vector<double> all(static_cast<std::size_t>(resolution_.n_lat * n));
    MPI_Allgatherv(per_row.data(), static_cast<int>(n_row() * n), MPI_DOUBLE, all.data(),
                   count.data(), at.data(), MPI_DOUBLE, comm_);
    std::vector<double> sum(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < all.size(); ++i) sum[i % sum.size()] += all[i];
    return sum;
}

std::vector<double> Layout::gather_rows(const double* field) const {
    std::vector<int> count, at;
    shares(resolution_.n_lon, &count, &at);
    const int64_t n_sphere = resolution_.n_lat * resolution_.n_lon;
    std::vector<double> all(rank_ == 0 ? static_cast<std::size_t>(n_sphere) : 0);
    MPI_Gatherv(field, static_cast<int>(n_point()), MPI_DOUBLE, all.data(), count.data(), at.data(),
                MPI_DOUBLE, 0, comm_);
    return all;
}

}  // namespace shallow_water
