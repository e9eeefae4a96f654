// SPDX-License-Identifier: Apache-2.0
// The parallel sort against a plain count of all keys that are smaller.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "libsurrogate/src/ranks/parallel_sort.hpp"
#include "libsurrogate/src/transport/mpi_communicator.hpp"
#include "tests/support/memory_meter.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

using impl::SortKeys;
using Key = std::vector<uint64_t>;

void refuse_equal(std::span<const uint64_t> key) {
    throw kernels::Error(kernels::Status::invalid_argument,
                         "key " + std::to_string(key[0]) + " occurs twice");
}

/// Keys that differ in the last word only, or by chance in others; the last word is `number`.
Key key_of(int64_t number, int64_t width) {
    std::mt19937_64 random(static_cast<uint64_t>(number));
    Key key(static_cast<size_t>(width));
    for (uint64_t& word : key) word = random() % 3;
    key.back() = static_cast<uint64_t>(number);
    return key;
}

SortKeys keys_of(const std::vector<int64_t>& numbers, int64_t width) {
    SortKeys keys(std::ssize(numbers), width);
    for (int64_t i = 0; i < keys.size(); ++i)
        std::ranges::copy(key_of(numbers[static_cast<size_t>(i)], width), keys[i].begin());
    return keys;
}

class ParallelSort : public testing::TestWithParam<const char*> {
protected:
    const std::unique_ptr<impl::Communicator> comm_ = impl::mpi_communicator(world);
};

TEST_P(ParallelSort, FindsThePlaceOfKeysOfAnyWidth) {
    constexpr int64_t n = 301;
    const std::vector<int64_t> own = own_rows(GetParam(), n, world);
    for (const int64_t width : {1, 2, 3, 8}) {
        std::vector<Key> all;
        for (int64_t number = 0; number < n; ++number) all.push_back(key_of(number, width));
        std::vector<int64_t> expected;
        for (const int64_t number : own) {
            const Key key = key_of(number, width);
            expected.push_back(std::ranges::count_if(all, [&](const Key& k) { return k < key; }));
        }
        EXPECT_EQ(impl::sorted_positions(*comm_, keys_of(own, width), refuse_equal), expected)
            << width << " words";
    }
}

TEST_P(ParallelSort, KeepsEqualKeysInTheOrderOfRanksAndIndices) {
    constexpr uint64_t n_bucket = 4;
    const std::vector<int64_t> own = own_rows(GetParam(), 301, world);
    SortKeys keys(std::ssize(own), 1);
    for (int64_t i = 0; i < keys.size(); ++i)
        keys[i][0] = key_of(own[static_cast<size_t>(i)], 2)[0] % n_bucket;
    const std::vector<uint64_t> all = gathered(keys.words, world);
    const auto first = static_cast<size_t>(comm_->exclusive_sum(keys.size()));
    std::vector<int64_t> expected;
    for (size_t place = first; place < first + own.size(); ++place) {
        int64_t before = 0;
        for (size_t other = 0; other < all.size(); ++other)
            before += all[other] < all[place] || (all[other] == all[place] && other < place);
        expected.push_back(before);
    }
    EXPECT_EQ(impl::stable_sorted_positions(*comm_, keys), expected);
}

TEST_P(ParallelSort, OfEqualKeysIsRefusedOnAllRanks) {
    std::vector<int64_t> own = own_rows(GetParam(), 301, world);
    for (int64_t& number : own) number = number == 300 ? 17 : number;
    const Refusal found =
        refusal([&] { impl::sorted_positions(*comm_, keys_of(own, 1), refuse_equal); });
    EXPECT_EQ(found.status, kernels::Status::invalid_argument);
    EXPECT_TRUE(found.says("key 17 occurs twice")) << found.text;
    EXPECT_TRUE(ranks_still_talk(world));
}

INSTANTIATE_TEST_SUITE_P(Partitions, ParallelSort,
                         testing::Values("contiguous", "scattered", "uneven"),
                         [](const auto& kind) { return std::string(kind.param); });

class ParallelSortMemory : public testing::Test {
protected:
    /// The bound of the header for n items of keys of `words` words, with some margin.
    static int64_t bound(int64_t words) { return n * (32 + 16 * words) * 9 / 8 + 32768; }
    static constexpr int64_t n = 20000;
    const std::unique_ptr<impl::Communicator> comm_ = impl::mpi_communicator(world);
};

TEST_F(ParallelSortMemory, IsThatOfTheWordsUsed) {
    for (const int64_t width : {1, 8}) {
        const MemoryMeter meter;
        SortKeys keys(n, width);
        for (int64_t i = 0; i < n; ++i)
            keys[i][0] = static_cast<uint64_t>(i * size_of(world) + rank_of(world));
        impl::sorted_positions(*comm_, std::move(keys), refuse_equal);
        EXPECT_LE(meter.peak_bytes(), bound(width)) << width << " words";
    }
}

TEST_F(ParallelSortMemory, IsSharedByTheRanksIfAllKeysAreEqual) {
    const SortKeys keys(n, 1);
    const MemoryMeter meter;
    impl::stable_sorted_positions(*comm_, keys);
    EXPECT_LE(meter.peak_bytes(), bound(2));
}

TEST(ParallelSortOfNothing, GivesNoPositions) {
    const auto comm = impl::mpi_communicator(world);
    EXPECT_TRUE(impl::sorted_positions(*comm, SortKeys(0, 3), refuse_equal).empty());
    EXPECT_TRUE(impl::stable_sorted_positions(*comm, SortKeys(0, 1)).empty());
}

}  // namespace
}  // namespace surrogate::test
