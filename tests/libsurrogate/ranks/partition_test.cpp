// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/ranks/partition.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/answer.hpp"

namespace surrogate::test {
namespace {

using Rows = std::vector<int64_t>;

Rows partition(const char* kind, int64_t n_rows, int32_t rank, int32_t size) {
    int64_t n = -1;
    EXPECT_EQ(surrogate_partition(kind, n_rows, rank, size, nullptr, &n), SURROGATE_SUCCESS);
    Rows rows(static_cast<size_t>(n), -1);
    EXPECT_EQ(surrogate_partition(kind, n_rows, rank, size, rows.data(), &n), SURROGATE_SUCCESS);
    return rows;
}

TEST(Partition, ContiguousGivesTheFirstRanksOneMore) {
    EXPECT_EQ(partition("contiguous", 8, 0, 3), (Rows{0, 1, 2}));
    EXPECT_EQ(partition("contiguous", 8, 1, 3), (Rows{3, 4, 5}));
    EXPECT_EQ(partition("contiguous", 8, 2, 3), (Rows{6, 7}));
    EXPECT_EQ(partition("contiguous", 2, 2, 3), (Rows{}));
}

TEST(Partition, UnevenLeavesRankZeroEmptyAndGivesRankOneHalf) {
    EXPECT_EQ(partition("uneven", 3, 0, 1), (Rows{0, 1, 2}));
    EXPECT_EQ(partition("uneven", 3, 0, 2), (Rows{}));
    EXPECT_EQ(partition("uneven", 3, 1, 2), (Rows{0, 1, 2}));
    EXPECT_EQ(partition("uneven", 7, 0, 4), (Rows{}));
    EXPECT_EQ(partition("uneven", 7, 1, 4), (Rows{0, 1, 2, 3}));
    EXPECT_EQ(partition("uneven", 7, 2, 4), (Rows{4, 5}));
    EXPECT_EQ(partition("uneven", 7, 3, 4), (Rows{6}));
}

TEST(Partition, ScatteredDealsOneShuffleRoundRobin) {
    // The shuffle is part of the contract: checks of a file by different people cut it alike.
    EXPECT_EQ(partition("scattered", 6, 0, 1), (Rows{3, 4, 0, 2, 5, 1}));
    const Rows all = partition("scattered", 6, 0, 1);
    EXPECT_EQ(partition("scattered", 6, 0, 2), (Rows{all[0], all[2], all[4]}));
    EXPECT_EQ(partition("scattered", 6, 1, 2), (Rows{all[1], all[3], all[5]}));
}

TEST(Partition, EveryRowHasOneOwner) {
    for (const char* kind : {"contiguous", "scattered", "uneven"}) {
        for (int32_t size : {1, 2, 3, 5, 8}) {
            for (int64_t n_rows : {0, 1, 7, 100}) {
                Rows owned;
                for (int32_t rank = 0; rank < size; ++rank) {
                    const Rows rows = partition(kind, n_rows, rank, size);
                    owned.insert(owned.end(), rows.begin(), rows.end());
                }
                std::sort(owned.begin(), owned.end());
                Rows expected;
                for (int64_t row = 0; row < n_rows; ++row) expected.push_back(row);
                EXPECT_EQ(owned, expected) << kind << " " << n_rows << " on " << size;
            }
        }
    }
}

TEST(Partition, ImpossibleQuestionsAreRefused) {
    int64_t n = 0;
    const auto ask = [&](const char* kind, int64_t n_rows, int32_t rank, int32_t size) {
        return answer(surrogate_partition(kind, n_rows, rank, size, nullptr, &n));
    };
    EXPECT_EQ(ask("contiguous", -1, 0, 1).status, SURROGATE_INVALID_ARGUMENT);
    EXPECT_EQ(ask("contiguous", 1, 0, 0).status, SURROGATE_INVALID_ARGUMENT);
    EXPECT_EQ(ask("contiguous", 1, 2, 2).status, SURROGATE_INVALID_ARGUMENT);
    EXPECT_EQ(ask("contiguous", 1, -1, 2).status, SURROGATE_INVALID_ARGUMENT);
    EXPECT_EQ(ask("contiguous", INT64_MAX, 0, 1).status, SURROGATE_NO_MEMORY);
    const Answer unknown = ask("scatered", 1, 0, 1);
    EXPECT_EQ(unknown.status, SURROGATE_UNKNOWN_NAME);
    EXPECT_TRUE(unknown.says("did you mean 'scattered'")) << unknown;
}

std::vector<int64_t> ends(impl::Range range) {
    return {range.begin, range.end};
}

TEST(Range, HullDoesNotCountEmptyRanges) {
    EXPECT_EQ(ends(impl::hull({2, 4}, {7, 9})), (Rows{2, 9}));
    EXPECT_EQ(ends(impl::hull({2, 9}, {3, 4})), (Rows{2, 9}));
    EXPECT_EQ(ends(impl::hull({0, 0}, {7, 9})), (Rows{7, 9}));
    EXPECT_EQ(ends(impl::hull({7, 9}, {20, 20})), (Rows{7, 9}));
}

TEST(Range, IntersectionOfRangesApartIsEmpty) {
    EXPECT_EQ(ends(impl::intersection({2, 8}, {5, 9})), (Rows{5, 8}));
    EXPECT_EQ(ends(impl::intersection({2, 8}, {3, 4})), (Rows{3, 4}));
    EXPECT_EQ(impl::intersection({2, 4}, {7, 9}).size(), 0);
    EXPECT_EQ(impl::intersection({7, 9}, {2, 4}).size(), 0);
    EXPECT_EQ(impl::intersection({2, 4}, {4, 9}).size(), 0);
}

TEST(BlockBegins, OfGroupsCutGroupsIntoWholeBlocks) {
    const std::vector<int64_t> groups = {0, 3, 3, 28, 30, 130};
    for (const int size : {1, 2, 3, 7, 200}) {
        const std::vector<int64_t> begins = impl::block_begins(groups, 10, size);
        ASSERT_EQ(std::ssize(begins), size + 1);
        EXPECT_EQ(begins.front(), 0);
        EXPECT_EQ(begins.back(), 130);
        EXPECT_TRUE(std::ranges::is_sorted(begins));
        for (int rank = 0; rank < size; ++rank) {
            const int64_t begin = begins[static_cast<size_t>(rank)];
            EXPECT_LE(std::abs(begin - impl::balanced_range(130, rank, size).begin), 5);
            if (begin == 130) continue;
            const int64_t group = *(std::ranges::upper_bound(groups, begin) - 1);
            EXPECT_EQ((begin - group) % 10, 0) << begin;
        }
    }
    EXPECT_EQ(impl::block_begins(std::vector<int64_t>{0}, 10, 2), (std::vector<int64_t>{0, 0, 0}));
    EXPECT_EQ(impl::block_begins(std::vector<int64_t>{0, 25}, 10, 2),
              (std::vector<int64_t>{0, 10, 25}));
}

TEST(BlockBegins, GiveWholeBlocksToEachRank) {
    EXPECT_EQ(impl::block_begins(20, 8, 1), (Rows{0, 20}));
    EXPECT_EQ(impl::block_begins(20, 8, 2), (Rows{0, 16, 20}));
    EXPECT_EQ(impl::block_begins(20, 8, 5), (Rows{0, 8, 16, 20, 20, 20}));
    EXPECT_EQ(impl::block_begins(0, 8, 2), (Rows{0, 0, 0}));
}

}  // namespace
}  // namespace surrogate::test
