// SPDX-License-Identifier: Apache-2.0
// The exchange between neighbors against a plain all-gather of everything, on random wishes.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <vector>

#include "libsurrogate/src/ranks/neighbor_exchange.hpp"
#include "libsurrogate/src/transport/mpi_communicator.hpp"
#include "tests/support/ranks.hpp"

namespace surrogate::test {
namespace {

using impl::NeighborExchange;
using impl::Segment;
using Want = NeighborExchange::Want;

constexpr int64_t n_row = 40, n_column = 24, max_channel = 5;

/// A number that no two places share.
float value_of(int64_t row, int64_t channel, int64_t column, int turn) {
    return static_cast<float>((row * max_channel + channel) * n_column + column) +
           0.25f * static_cast<float>(turn);
}

class Exchange : public testing::Test {
protected:
    void connect(std::vector<Want> wants, int64_t item_bytes = max_channel * 4) {
        wants_ = wants;
        exchange_.connect(*comm_, std::move(wants), item_bytes);
    }

    void begin(int64_t n_channel, int turn, const kernels::Queue& queue) {
        exchange_.begin<float>(*comm_, queue, n_channel, [=](const Segment& s, float* to) {
            for (int64_t c = 0; c < n_channel; ++c) {
                for (int64_t i = 0; i < s.count; ++i) *to++ = value_of(s.row, c, s.first + i, turn);
            }
        });
    }

    /// Every wanted segment arrives once, with the numbers of its place.
    void expect_arrival(int64_t n_channel, int turn, const kernels::Queue& queue) {
        std::vector<std::atomic<int>> arrivals(static_cast<size_t>(n_row * n_column));
        std::atomic<int64_t> n_wrong = 0;
        exchange_.finish<float>(
            *comm_, queue, n_channel, [&](const Segment& s, const float* from, int) {
                for (int64_t c = 0; c < n_channel; ++c) {
                    for (int64_t i = 0; i < s.count; ++i)
                        n_wrong += *from++ != value_of(s.row, c, s.first + i, turn);
                }
                for (int64_t i = 0; i < s.count; ++i)
                    ++arrivals[static_cast<size_t>(s.row * n_column + s.first + i)];
            });
        for (const Want& want : wants_) {
            for (int64_t i = 0; i < want.segment.count; ++i)
                --arrivals[static_cast<size_t>(want.segment.row * n_column + want.segment.first +
                                               i)];
        }
        EXPECT_EQ(n_wrong, 0) << "items with numbers of another place";
        EXPECT_TRUE(std::ranges::all_of(arrivals, [](const auto& n) { return n == 0; }))
            << "items did not arrive as often as they were asked for";
    }

    void expect_to_deliver(int64_t n_channel, int turn, const kernels::Queue& queue = {}) {
        begin(n_channel, turn, queue);
        expect_arrival(n_channel, turn, queue);
    }

    /// Items that other ranks want of this one, counted by asking everybody.
    int64_t wanted_of_this_rank(int64_t* n_asking) {
        std::vector<int64_t> mine(static_cast<size_t>(size_)), all(mine.size() * mine.size());
        for (const Want& want : wants_) mine[static_cast<size_t>(want.rank)] += want.segment.count;
        MPI_Allgather(mine.data(), size_, MPI_INT64_T, all.data(), size_, MPI_INT64_T,
                      MPI_COMM_WORLD);
        int64_t n_item = 0;
        *n_asking = 0;
        for (int r = 0; r < size_; ++r) {
            const int64_t n = all[static_cast<size_t>(r * size_ + rank_)];
            if (r == rank_) continue;
            n_item += n;
            *n_asking += n > 0;
        }
        return n_item;
    }

    /// Row r belongs to rank r mod size: neighbors of a row are any number of ranks away.
    int owner(int64_t row) const { return static_cast<int>(row % size_); }

    std::vector<Want> random_wants(unsigned seed, bool of_own) {
        std::mt19937 random(seed + static_cast<unsigned>(rank_) * 977);
        const auto below = [&](int64_t n) {
            return static_cast<int64_t>(random() % static_cast<unsigned>(n));
        };
        std::vector<Want> wants;
        for (int64_t i = 5 + below(60); i > 0; --i) {
            const int64_t row = below(n_row), first = below(n_column);
            if (owner(row) == rank_ && !of_own) continue;
            wants.push_back({owner(row), {row, first, 1 + below(n_column - first)}});
        }
        return wants;
    }

    const std::unique_ptr<impl::Communicator> comm_ = impl::mpi_communicator(MPI_COMM_WORLD);
    const int rank_ = rank_of(MPI_COMM_WORLD), size_ = size_of(MPI_COMM_WORLD);
    std::vector<Want> wants_;
    NeighborExchange exchange_;
};

TEST_F(Exchange, DeliversWhatEachRankAskedFor) {
    for (unsigned seed = 1; seed <= 10; ++seed) {
        exchange_ = {};
        connect(random_wants(seed, true));
        expect_to_deliver(3, 0);
    }
}

TEST_F(Exchange, OfOneWidthServesNarrowerItemsAndManySteps) {
    connect(random_wants(7, true));
    int turn = 0;
    for (const int64_t n_channel : {5, 1, 3, 5, 2, 4}) expect_to_deliver(n_channel, turn++);
}

TEST_F(Exchange, IsSharedByThreads) {
    connect(random_wants(11, true));
    const kernels::Queue queue(kernels::Backend::simd, kernels::best_vector_level(), 3);
    for (int turn = 0; turn < 5; ++turn) expect_to_deliver(4, turn, queue);
}

TEST_F(Exchange, SendsOnlyWhatOthersWant) {
    connect(random_wants(3, true));
    int64_t n_asking = 0;
    const int64_t n_item = wanted_of_this_rank(&n_asking);
    EXPECT_EQ(exchange_.n_item_sent(), n_item);
    EXPECT_EQ(exchange_.n_message(), n_asking);
    EXPECT_EQ(exchange_.has_messages(), size_ > 1);

    comm_->reset_counters();
    expect_to_deliver(3, 0);
    EXPECT_EQ(comm_->n_collective(), size_ > 1 ? 1 : 0);
    EXPECT_EQ(comm_->bytes_sent(), n_item * 3 * 4);
    EXPECT_EQ(comm_->n_collective(), exchange_.collectives());
}

TEST_F(Exchange, OfOwnSegmentsNeedsNoMessage) {
    std::vector<Want> wants;
    for (int64_t row = rank_; row < n_row; row += size_) wants.push_back({rank_, {row, 2, 9}});
    connect(wants);
    EXPECT_FALSE(exchange_.has_messages());
    EXPECT_EQ(exchange_.n_item_sent(), 0);
    comm_->reset_counters();
    expect_to_deliver(5, 0);
    EXPECT_EQ(comm_->n_collective(), 0);
    EXPECT_EQ(comm_->bytes_sent(), 0);
}

TEST_F(Exchange, OfNothingIsFine) {
    EXPECT_EQ(exchange_.n_item_sent(), 0);
    connect({});
    EXPECT_FALSE(exchange_.has_messages());
    expect_to_deliver(2, 0);
}

TEST_F(Exchange, IsJoinedByRanksThatWantNothing) {
    connect(rank_ == 0 ? random_wants(5, true) : std::vector<Want>{});
    EXPECT_EQ(exchange_.has_messages(), size_ > 1);
    expect_to_deliver(3, 0);
}

TEST_F(Exchange, IsJoinedByRanksThatOwnNothing) {
    // The last rank owns all rows, the others want them: messages go one way only.
    std::vector<Want> wants;
    if (rank_ < size_ - 1) {
        for (int64_t row = 0; row < n_row; ++row) wants.push_back({size_ - 1, {row, 0, n_column}});
    }
    connect(wants);
    EXPECT_EQ(exchange_.n_message(), rank_ == size_ - 1 ? size_ - 1 : 0);
    EXPECT_EQ(exchange_.n_item_sent(), rank_ == size_ - 1 ? (size_ - 1) * n_row * n_column : 0);
    expect_to_deliver(5, 0);
}

TEST_F(Exchange, TellsAllRanksOfOneWithoutMemory) {
    // More bytes an item than fit anywhere, on one rank.
    const bool is_culprit = rank_ == size_ - 1;
    try {
        std::vector<Want> wants;
        if (size_ > 1) wants.push_back({(rank_ + 1) % size_, {(rank_ + 1) % size_, 0, 4}});
        exchange_.connect(*comm_, wants, is_culprit ? int64_t{1} << 56 : 4);
        EXPECT_EQ(size_, 1);
    } catch (const kernels::Error& error) {
        EXPECT_EQ(error.status(), kernels::Status::no_memory) << error.what();
    }
    EXPECT_TRUE(ranks_still_talk(MPI_COMM_WORLD));
}

}  // namespace
}  // namespace surrogate::test
