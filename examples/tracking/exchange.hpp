// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <type_traits>
#include <vector>

namespace tracking {

inline int rank_of(MPI_Comm comm) {
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    return rank;
}

inline int size_of(MPI_Comm comm) {
    int size = 1;
    MPI_Comm_size(comm, &size);
    return size;
}

/// An MPI type for the bytes of a row, for the duration of a call.
class RowType {
public:
    explicit RowType(std::size_t n_byte) {
        MPI_Type_contiguous(static_cast<int>(n_byte), MPI_BYTE, &type_);
        MPI_Type_commit(&type_);
    }
    ~RowType() { MPI_Type_free(&type_); }
    RowType(const RowType&) = delete;
    RowType& operator=(const RowType&) = delete;
    operator MPI_Datatype() const { return type_; }

private:
    MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

/// Sends rows[r] to rank r; returns the rows received from ranks 0, 1, .., one after the other.
/// *n_from, if given: number of rows from each rank. Collective.
template <class Row>
std::vector<Row> exchange_rows(MPI_Comm comm, const std::vector<std::vector<Row>>& rows,
                               std::vector<int>* n_from = nullptr) {
    static_assert(std::is_trivially_copyable_v<Row>);
    const std::size_t n_rank = rows.size();
    std::vector<int> n_to(n_rank), to(n_rank), n_in(n_rank), from(n_rank);
    std::vector<Row> out;
    for (std::size_t r = 0; r < n_rank; ++r) {
        n_to[r] = static_cast<int>(rows[r].size());
        out.insert(out.end(), rows[r].begin(), rows[r].end());
    }
    MPI_Alltoall(n_to.data(), 1, MPI_INT, n_in.data(), 1, MPI_INT, comm);
    std::exclusive_scan(n_to.begin(), n_to.end(), to.begin(), 0);
    std::exclusive_scan(n_in.begin(), n_in.end(), from.begin(), 0);
    const int64_t n_all = std::accumulate(n_in.begin(), n_in.end(), int64_t{0});
    if (n_all > std::numeric_limits<int>::max() ||
        int64_t(out.size()) > std::numeric_limits<int>::max())
        throw std::runtime_error("more than 2^31 rows on a rank; use more ranks");
    std::vector<Row> in(static_cast<std::size_t>(n_all));
    const RowType type(sizeof(Row));
    MPI_Alltoallv(out.data(), n_to.data(), to.data(), type, in.data(), n_in.data(), from.data(),
                  type, comm);
    if (n_from) *n_from = n_in;
    return in;
}

/// Sends rows to the ranks of their events; returns the rows of this rank's events, by event and
/// id: id_of(row) rises with the event. Collective.
template <class Row, class EventOf, class IdOf>
std::vector<Row> rows_by_event(MPI_Comm comm, const std::vector<Row>& rows, const EventOf& event_of,
                               const IdOf& id_of) {
    std::vector<std::vector<Row>> to(std::size_t(size_of(comm)));
    for (const Row& row : rows) to[std::size_t(event_of(row)) % to.size()].push_back(row);
    std::vector<Row> mine = exchange_rows(comm, to);
    std::sort(mine.begin(), mine.end(),
              [&](const Row& a, const Row& b) { return id_of(a) < id_of(b); });
    return mine;
}

/// The range of n items that a rank processes: first and last + 1.
struct LocalRange {
    int64_t first, last;
    LocalRange(MPI_Comm comm, int64_t n)
        : first(n * rank_of(comm) / size_of(comm)), last(n * (rank_of(comm) + 1) / size_of(comm)) {}
};

}  // namespace tracking
