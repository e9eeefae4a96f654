// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/ranks/id_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

namespace surrogate::test {
namespace {

using impl::IdOrder;
constexpr int64_t lowest = std::numeric_limits<int64_t>::min();
constexpr int64_t highest = std::numeric_limits<int64_t>::max();

void expect_order(const std::vector<int64_t>& ids) {
    const IdOrder order(ids);
    std::vector<int64_t> sorted = ids;
    std::ranges::sort(sorted);
    ASSERT_TRUE(std::ranges::equal(order.sorted(), sorted));
    for (size_t row = 0; row < ids.size(); ++row)
        ASSERT_EQ(order.id(order.number(static_cast<int64_t>(row))), ids[row]) << row;
}

TEST(IdOrder, NumbersDenseSparseAndExtremeIds) {
    std::vector<int64_t> ids;
    expect_order(ids);
    for (int64_t i = 0; i < 1000; ++i) ids.push_back(i - 500);
    expect_order(ids);
    EXPECT_TRUE(IdOrder(ids).is_in_rows());
    std::shuffle(ids.begin(), ids.end(), std::mt19937(1));
    expect_order(ids);
    EXPECT_FALSE(IdOrder(ids).is_in_rows());
    for (int64_t& id : ids) id *= 1000003;
    expect_order(ids);
    expect_order({highest, lowest, 0, -1});
    expect_order({highest, highest - 1});
    expect_order({lowest + 1, lowest});
}

TEST(IdOrder, OfEqualIdsGivesEachANumber) {
    const std::vector<int64_t> ids{5, 3, 5, 4};
    const IdOrder order(ids);
    EXPECT_NE(order.number(0), order.number(2));
    expect_order(ids);
}

TEST(IdOrder, CountsSmallerIds) {
    const std::vector<int64_t> ids{30, 10, 20};
    const IdOrder order(ids);
    EXPECT_EQ(order.n_below(lowest), 0u);
    EXPECT_EQ(order.n_below(20), 1u);
    EXPECT_EQ(order.n_below(21), 2u);
    EXPECT_EQ(order.n_below(highest), 3u);
}

}  // namespace
}  // namespace surrogate::test
