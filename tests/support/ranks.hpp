// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <string>
#include <surrogate/surrogate_mpi.hpp>
#include <vector>

#include "tests/support/answer.hpp"

namespace surrogate::test {

inline int rank_of(MPI_Comm comm) {
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    return rank;
}
inline int size_of(MPI_Comm comm) {
    int size = 0;
    MPI_Comm_size(comm, &size);
    return size;
}

/// The rows of this rank under a named partition.
inline std::vector<int64_t> own_rows(const char* kind, int64_t n, MPI_Comm comm) {
    int64_t n_own = 0;
    check(surrogate_partition(kind, n, rank_of(comm), size_of(comm), nullptr, &n_own));
    std::vector<int64_t> rows(static_cast<size_t>(n_own));
    check(surrogate_partition(kind, n, rank_of(comm), size_of(comm), rows.data(), &n_own));
    return rows;
}

/// Returns whether the ranks of `comm` can still communicate, as callers need after a failure.
inline bool ranks_still_talk(MPI_Comm comm) {
    int sum = 0, one = 1;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    return sum == size_of(comm);
}

/// The values of all ranks, in rank order, on all ranks.
template <class T>
std::vector<T> gathered(const std::vector<T>& own, MPI_Comm comm) {
    int n = static_cast<int>(own.size() * sizeof(T)), total = 0;
    std::vector<int> counts(static_cast<size_t>(size_of(comm))), offsets;
    MPI_Allgather(&n, 1, MPI_INT, counts.data(), 1, MPI_INT, comm);
    for (int count : counts) {
        offsets.push_back(total);
        total += count;
    }
    std::vector<T> all(static_cast<size_t>(total) / sizeof(T));
    MPI_Allgatherv(own.data(), n, MPI_BYTE, all.data(), counts.data(), offsets.data(), MPI_BYTE,
                   comm);
    return all;
}

/// Rank 0's answer, on all ranks. Collective.
inline Answer answer_of_rank_0(Answer answer, MPI_Comm comm) {
    int size = static_cast<int>(answer.text.size());
    MPI_Bcast(&answer.status, 1, MPI_INT32_T, 0, comm);
    MPI_Bcast(&size, 1, MPI_INT, 0, comm);
    answer.text.resize(static_cast<size_t>(size));
    MPI_Bcast(answer.text.data(), size, MPI_CHAR, 0, comm);
    return answer;
}

inline bool operator==(const Answer& a, const Answer& b) {
    return a.status == b.status && a.text == b.text;
}

}  // namespace surrogate::test
