// SPDX-License-Identifier: Apache-2.0
// Collectives whose shares differ from rank to rank, with messages cut into pieces and whole.
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "libsurrogate/src/transport/mpi_communicator.hpp"
#include "tests/support/memory_meter.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

using Counts = std::vector<int64_t>;

/// n numbers that only `rank` has.
Counts numbers_of(int rank, int64_t n) {
    Counts numbers(static_cast<size_t>(n));
    std::iota(numbers.begin(), numbers.end(), 1000 * rank);
    return numbers;
}

/// The parameter: bytes of a message in one MPI call.
class Collectives : public testing::TestWithParam<int64_t> {
protected:
    /// Every rank gives n_of(rank) numbers; all get all, in rank order, without taking memory.
    template <class Count>
    void expect_gathered(const Count& n_of) {
        Counts n_bytes, expected;
        for (int r = 0; r < size_; ++r) {
            n_bytes.push_back(8 * n_of(r));
            const Counts share = numbers_of(r, n_of(r));
            expected.insert(expected.end(), share.begin(), share.end());
        }
        const Counts own = numbers_of(rank_, n_of(rank_));
        Counts all(expected.size(), -1);
        comm_->reset_counters();
        {
            const MemoryMeter meter;
            comm_->all_gather_v(own.data(), all.data(), n_bytes);
            EXPECT_EQ(meter.n_allocation(), 0);
        }
        EXPECT_EQ(all, expected);
        EXPECT_EQ(comm_->bytes_sent(), 8 * n_of(rank_));
        EXPECT_EQ(comm_->n_collective(), 1);
    }

    /// Numbers of every rank go once around the ring, in chunks of n_of(rank) numbers.
    template <class Count>
    void expect_to_go_around(int64_t most, const Count& n_of) {
        Counts held = numbers_of(rank_, n_of(rank_)), arriving;
        held.reserve(static_cast<size_t>(most));
        arriving.reserve(static_cast<size_t>(most));
        comm_->reserve_ring_shift(8 * most);
        comm_->reset_counters();
        int64_t n_byte = 0;
        for (int step = 1; step <= size_; ++step) {
            const int source = (rank_ - step + size_) % size_;
            const MemoryMeter meter;
            arriving.assign(static_cast<size_t>(n_of(source)), -1);
            comm_->begin_ring_shift(held.data(), 8 * std::ssize(held), arriving.data(),
                                    8 * std::ssize(arriving));
            comm_->finish_exchange();
            EXPECT_EQ(meter.n_allocation(), 0);
            EXPECT_EQ(arriving, numbers_of(source, n_of(source))) << "step " << step;
            n_byte += size_ > 1 ? 8 * std::ssize(held) : 0;
            held.swap(arriving);
        }
        EXPECT_EQ(held, numbers_of(rank_, n_of(rank_)));
        EXPECT_EQ(comm_->bytes_sent(), n_byte);
        EXPECT_EQ(comm_->n_collective(), size_);
    }

    const std::unique_ptr<impl::Communicator> comm_ = impl::mpi_communicator(world, GetParam());
    const int rank_ = rank_of(world), size_ = size_of(world);
};

int64_t growing(int rank) {
    return 7 * rank + 3;
}
/// Every second rank has nothing, the first one included.
int64_t with_gaps(int rank) {
    return rank % 2 == 0 ? 0 : 5 + rank;
}
int64_t nothing(int) {
    return 0;
}

TEST_P(Collectives, GatherSharesOfDifferentSizes) {
    expect_gathered(growing);
}

TEST_P(Collectives, GatherEmptyShares) {
    expect_gathered(with_gaps);
    expect_gathered(nothing);
}

TEST_P(Collectives, ShiftChunksAroundTheRing) {
    expect_to_go_around(growing(size_), growing);
}

TEST_P(Collectives, ShiftEmptyChunks) {
    expect_to_go_around(with_gaps(size_) + 6 + size_, with_gaps);
    expect_to_go_around(1, nothing);
}

TEST_P(Collectives, SendOneCountToEveryRank) {
    Counts to_each, from_each(static_cast<size_t>(size_), -1), expected;
    for (int r = 0; r < size_; ++r) {
        to_each.push_back((int64_t{1} << 40) + 100 * rank_ + r);
        expected.push_back((int64_t{1} << 40) + 100 * r + rank_);
    }
    const MemoryMeter meter;
    comm_->all_to_all_counts(to_each, from_each);
    EXPECT_EQ(meter.n_allocation(), 0);
    EXPECT_EQ(from_each, expected);
}

/// Several at a time, with other calls between, finished in another order than begun.
TEST_P(Collectives, ReduceWhileOtherCallsAreMade) {
    constexpr int64_t n = 23;
    Counts largest(n), sums(n);
    std::vector<double> doubles(n);
    std::vector<float> floats(n);
    comm_->reserve_reductions(4, n);
    for (int turn = 0; turn < 2; ++turn) {
        for (int64_t i = 0; i < n; ++i) {
            const auto at = static_cast<size_t>(i);
            largest[at] = sums[at] = (int64_t{1} << 40) * (rank_ + 1) + i;
            doubles[at] = static_cast<double>(rank_ + i);
            floats[at] = static_cast<float>(rank_ * i);
        }
        Counts shares(static_cast<size_t>(size_), rank_), received(static_cast<size_t>(size_));
        comm_->reset_counters();
        const MemoryMeter meter;
        const int64_t a = comm_->begin_reduce_max(std::span(largest));
        const int64_t b = comm_->begin_reduce_sum(std::span(sums));
        comm_->all_to_all_counts(shares, received);
        const int64_t c = comm_->begin_reduce_sum(std::span(doubles));
        comm_->finish_reduction(b);
        const int64_t d = comm_->begin_reduce_sum(std::span(floats));
        for (const int64_t begun : {d, a, c}) comm_->finish_reduction(begun);
        EXPECT_EQ(meter.n_allocation(), 0);
        EXPECT_EQ(comm_->n_collective(), 5);
        EXPECT_EQ(comm_->bytes_sent(), 8 * 3 * n + 4 * n + 8 * size_);
        const int64_t rank_sum = size_ * (size_ - 1) / 2;
        for (int64_t i = 0; i < n; ++i) {
            const auto at = static_cast<size_t>(i);
            EXPECT_EQ(largest[at], (int64_t{1} << 40) * size_ + i);
            EXPECT_EQ(sums[at], (int64_t{1} << 40) * (rank_sum + size_) + size_ * i);
            EXPECT_EQ(doubles[at], static_cast<double>(rank_sum + size_ * i));
            EXPECT_EQ(floats[at], static_cast<float>(rank_sum * i));
        }
    }
}

// Pieces that cut numbers in half, and the last of a message is short; messages in one piece.
INSTANTIATE_TEST_SUITE_P(Bytes, Collectives, testing::Values(5, 100, int64_t{1} << 30),
                         [](const auto& n) { return std::to_string(n.param); });

TEST(CollectivesOfOneRank, CopyWithoutATransport) {
    const auto comm = impl::self_communicator();
    const Counts own = {4, 5, 6}, n_bytes = {24};
    Counts all(3, -1), shifted(3, -1), count(1, -1);
    comm->all_gather_v(own.data(), all.data(), n_bytes);
    comm->begin_ring_shift(own.data(), 24, shifted.data(), 24);
    comm->finish_exchange();
    comm->all_to_all_counts(n_bytes, count);
    EXPECT_EQ(all, own);
    EXPECT_EQ(shifted, own);
    EXPECT_EQ(count, n_bytes);
    comm->finish_reduction(comm->begin_reduce_sum(std::span(count)));
    EXPECT_EQ(count, n_bytes);
}

}  // namespace
}  // namespace surrogate::test
