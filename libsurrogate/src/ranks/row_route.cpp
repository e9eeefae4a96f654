// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/ranks/row_route.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <type_traits>

namespace surrogate::impl {

namespace {

/// Calls copy(n) for rows of n bytes; the number of a row of one or two doubles is one that the
/// compiler knows: a call of memcpy for each row takes longer than the row.
template <class Copy>
void with_row_bytes(int64_t row_bytes, const Copy& copy) {
    if (row_bytes == 8)
        copy(std::integral_constant<int64_t, 8>());
    else if (row_bytes == 16)
        copy(std::integral_constant<int64_t, 16>());
    else
        copy(row_bytes);
}

/// to[i] = from[rows[i]].
void gather_rows(const void* from, std::span<const int64_t> rows, void* to, int64_t row_bytes) {
    with_row_bytes(row_bytes, [&](auto n) {
        const int64_t n_byte = n;
        for (size_t i = 0; i < rows.size(); ++i) {
            std::memcpy(static_cast<char*>(to) + static_cast<int64_t>(i) * n_byte,
                        static_cast<const char*>(from) + rows[i] * n_byte,
                        static_cast<size_t>(n_byte));
        }
    });
}

/// to[rows[i]] = from[i].
void scatter_rows(const void* from, std::span<const int64_t> rows, void* to, int64_t row_bytes) {
    with_row_bytes(row_bytes, [&](auto n) {
        const int64_t n_byte = n;
        for (size_t i = 0; i < rows.size(); ++i) {
            std::memcpy(static_cast<char*>(to) + rows[i] * n_byte,
                        static_cast<const char*>(from) + static_cast<int64_t>(i) * n_byte,
                        static_cast<size_t>(n_byte));
        }
    });
}

}  // namespace

RowRoute::RowRoute(Communicator& comm, std::span<const int64_t> positions,
                   std::span<const int64_t> begins) {
    const auto rank = static_cast<size_t>(comm.rank());
    target_rows_ = {begins[rank], begins[rank + 1]};
    std::vector<int64_t> sent;
    comm.agree([&] {
        sent = sort_by_position(positions);
        count_by_rank(sent, begins);
    });
    comm.all_to_all_counts(n_send_, n_receive_);
    comm.agree([&] {
        const int64_t n = std::accumulate(n_receive_.begin(), n_receive_.end(), int64_t{0});
        if (n != target_rows_.size()) {
            throw Error(Status::internal, "route of rows: " + std::to_string(n) +
                                              " rows arrive for " +
                                              std::to_string(target_rows_.size()) + " positions");
        }
        receive_row_.resize(static_cast<size_t>(n));
        reserve(comm, sizeof(int64_t));
    });
    comm.all_to_all(sent.data(), n_send_, receive_row_.data(), n_receive_, sizeof(int64_t));
    for (int64_t& row : receive_row_) row -= target_rows_.begin;
}

/// Sets send_row_; returns the positions in the order in which the rows are sent.
std::vector<int64_t> RowRoute::sort_by_position(std::span<const int64_t> positions) {
    const auto position = [&](int64_t row) { return positions[static_cast<size_t>(row)]; };
    send_row_.resize(positions.size());
    std::iota(send_row_.begin(), send_row_.end(), int64_t{0});
    std::sort(send_row_.begin(), send_row_.end(),
              [&](int64_t a, int64_t b) { return position(a) < position(b); });
    std::vector<int64_t> sorted(positions.size());
    std::transform(send_row_.begin(), send_row_.end(), sorted.begin(), position);
    return sorted;
}

void RowRoute::count_by_rank(std::span<const int64_t> sorted, std::span<const int64_t> begins) {
    n_send_.resize(begins.size() - 1);
    n_receive_.resize(begins.size() - 1);
    if (!sorted.empty() && (sorted.front() < begins.front() || sorted.back() >= begins.back())) {
        throw Error(Status::internal, "route of rows: positions " + std::to_string(sorted.front()) +
                                          " .. " + std::to_string(sorted.back()) + " of " +
                                          std::to_string(begins.back()));
    }
    auto from = sorted.begin();
    for (size_t rank = 0; rank < n_send_.size(); ++rank) {
        const auto to = std::lower_bound(from, sorted.end(), begins[rank + 1]);
        n_send_[rank] = to - from;
        from = to;
    }
}

void RowRoute::reserve(Communicator& comm, int64_t row_bytes) const {
    comm.reserve_rows(n_send_, n_receive_, row_bytes);
}

namespace {

/// Rows of one end of a route, grouped by rank, and how many go to or come from each rank.
struct End {
    const std::vector<int64_t>& rows;
    const std::vector<int64_t>& n_of_rank;
};

void move_rows(Communicator& comm, const void* from, const End& leave, void* scratch,
               const End& arrive, void* to, int64_t row_bytes) {
    char* const packed = static_cast<char*>(scratch);
    char* const received = packed + std::ssize(leave.rows) * row_bytes;
    gather_rows(from, leave.rows, packed, row_bytes);
    comm.all_to_all(packed, leave.n_of_rank, received, arrive.n_of_rank, row_bytes);
    scatter_rows(received, arrive.rows, to, row_bytes);
}

}  // namespace

void RowRoute::to_target(Communicator& comm, const void* origin, void* scratch, void* target,
                         int64_t row_bytes) const {
    move_rows(comm, origin, {send_row_, n_send_}, scratch, {receive_row_, n_receive_}, target,
              row_bytes);
}

void RowRoute::to_origin(Communicator& comm, const void* target, void* scratch, void* origin,
                         int64_t row_bytes) const {
    move_rows(comm, target, {receive_row_, n_receive_}, scratch, {send_row_, n_send_}, origin,
              row_bytes);
}

void RowRoute::to_target_alone(const void* origin, void* target, int64_t row_bytes) const {
    gather_rows(origin, send_row_, target, row_bytes);
}

void RowRoute::to_origin_alone(const void* target, void* origin, int64_t row_bytes) const {
    scatter_rows(target, send_row_, origin, row_bytes);
}

int64_t RowRoute::bytes() const {
    return 8 * (std::ssize(send_row_) + std::ssize(receive_row_) + std::ssize(n_send_) +
                std::ssize(n_receive_));
}

}  // namespace surrogate::impl
