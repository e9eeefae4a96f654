// SPDX-License-Identifier: Apache-2.0
// An exchange whose MPI calls fail on one rank: messages that were posted before write nothing to
// memory that the caller has freed since.
#include <gtest/gtest.h>
#include <mpi.h>

#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "libsurrogate/src/transport/mpi_communicator.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/world.hpp"

namespace {

std::string failing_call;  // of this rank; "": none

}  // namespace

// These take the place of MPI's own for the whole program.
extern "C" {

int MPI_Isend(const void* data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request* request) {
    if (failing_call == "MPI_Isend") return MPI_ERR_OTHER;
    return PMPI_Isend(data, n, type, to, tag, comm, request);
}

int MPI_Waitall(int n, MPI_Request* requests, MPI_Status* statuses) {
    if (failing_call == "MPI_Waitall") return MPI_ERR_OTHER;
    return PMPI_Waitall(n, requests, statuses);
}

}  // extern "C"

namespace surrogate::test {
namespace {

class FailedExchange : public testing::TestWithParam<std::tuple<const char*, int>> {};

impl::Status status_of(const std::function<void()>& work) {
    try {
        work();
        return impl::Status::success;
    } catch (const impl::Error& error) {
        return error.status();
    }
}

/// Rank 0 receives from the last rank and sends to rank 1. Its call fails before the others begin.
TEST_P(FailedExchange, TakesItsMessagesBack) {
    const auto [call, n_byte] = GetParam();
    const int rank = rank_of(world), size = size_of(world);
    if (size == 1) GTEST_SKIP() << "one rank sends no messages";
    // Ranks that wait for rank 0 never finish: these objects stay.
    auto& comm = *impl::mpi_communicator(world).release();
    auto& sent = *new std::vector<char>(static_cast<size_t>(n_byte), 's');
    auto& received = *new std::vector<char>(static_cast<size_t>(n_byte), 'r');
    const auto begin = [&] { comm.begin_ring_shift(sent.data(), n_byte, received.data(), n_byte); };
    if (rank == 0) {
        failing_call = call;
        const impl::Status status = status_of([&] {
            begin();
            comm.finish_exchange();
        });
        failing_call = "";
        EXPECT_EQ(status, impl::Status::mpi);
        EXPECT_EQ(status_of([&] { comm.finish_exchange(); }), impl::Status::broken);
        EXPECT_EQ(status_of(begin), impl::Status::broken);
    }
    MPI_Barrier(world);
    if (rank != 0) begin();
    for (int i = 0; i < 100; ++i) MPI_Barrier(world);  // MPI makes progress
    if (rank == 0) {
        EXPECT_EQ(received, std::vector<char>(static_cast<size_t>(n_byte), 'r'));
    }
}

INSTANTIATE_TEST_SUITE_P(, FailedExchange,
                         testing::Combine(testing::Values("MPI_Isend", "MPI_Waitall"),
                                          testing::Values(64, 1 << 20)),
                         [](const auto& given) {
                             return std::string(std::get<0>(given.param) + 4) + "Of" +
                                    std::to_string(std::get<1>(given.param)) + "Bytes";
                         });

}  // namespace
}  // namespace surrogate::test
