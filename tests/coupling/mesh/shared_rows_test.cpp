// SPDX-License-Identifier: Apache-2.0
// Which rows of a mesh count, on any number of ranks.
#include "coupling/mesh/shared_rows.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace surrogate::test {
namespace {

using tool::Job;
using tool::RowKeys;
using tool::SharedRows;

/// Rows at x = 0, 1, .. n - 1 with values 10 x.
RowKeys line(int n) {
    RowKeys keys;
    keys.values.resize(1);
    for (int i = 0; i < n; ++i) {
        keys.x.insert(keys.x.end(), {double(i), 0.0, 0.0});
        keys.values[0].push_back(10.0 * i);
        keys.ids.push_back(100 + i);
    }
    keys.is_ghost.assign(static_cast<size_t>(n), 0);
    keys.is_hidden.assign(static_cast<size_t>(n), 0);
    return keys;
}

int64_t n_chosen(const Job& job, const SharedRows& rows) {
    return job.sum(static_cast<int64_t>(rows.chosen().size()));
}

TEST(SharedRows, EveryRankHoldsEverythingAndEachRowCountsOnce) {
    const Job job;
    const SharedRows rows(job, line(50), 50);
    EXPECT_EQ(n_chosen(job, rows), 50);
    EXPECT_EQ(rows.n_split(), 0);
    EXPECT_EQ(rows.chosen().size(), job.is_root() ? 50u : 0u);  // the lowest rank
    std::vector<double> result;
    for (const int64_t row : rows.chosen()) result.push_back(3.0 * static_cast<double>(row));
    const auto all = rows.spread(job, result);
    for (size_t i = 0; i < 50; ++i) EXPECT_EQ(all[i], 3.0 * static_cast<double>(i));
}

TEST(SharedRows, RowsWithOtherValuesAtOnePlaceAreTwoAndReported) {
    const Job job;
    RowKeys keys = line(4);
    keys.values[0][2] = 10.0;
    keys.x[6] = 1.0;  // row 2 is a copy of row 1
    keys.x[9] = 1.0;  // row 3 lies there too, with value 30
    const SharedRows rows(job, keys, 4);
    EXPECT_EQ(n_chosen(job, rows), 3);
    EXPECT_EQ(rows.n_split(), 1);
}

TEST(SharedRows, IdsDecideWhateverTheCoordinates) {
    const Job job;
    RowKeys keys = line(4);
    keys.has_ids = true;
    keys.ids = {7, 8, 7, 9};
    keys.x.assign(12, 0.0);
    const SharedRows rows(job, keys, 4);
    EXPECT_EQ(n_chosen(job, rows), 3);
    EXPECT_EQ(rows.n_split(), 0);
    std::vector<double> result;
    for (const int64_t row : rows.chosen()) result.push_back(static_cast<double>(row));
    const auto all = rows.spread(job, result);
    EXPECT_EQ(all, (std::vector<double>{0, 1, 0, 3}));
}

TEST(SharedRows, AGhostTakesItsOriginalAndStandsForItselfWithoutOne) {
    const Job job;
    RowKeys keys = line(3);
    keys.is_ghost = {1, 0, 1};
    keys.x[0] = 1.0;  // a ghost of row 1 with a stale value
    keys.values[0][0] = -5.0;
    const SharedRows rows(job, keys, 3);
    EXPECT_EQ(n_chosen(job, rows), 2);
    EXPECT_EQ(rows.n_split(), 0);
    std::vector<double> result;
    for (const int64_t row : rows.chosen()) result.push_back(static_cast<double>(row));
    EXPECT_EQ(rows.spread(job, result), (std::vector<double>{1, 1, 2}));
}

TEST(SharedRows, HiddenRowsAreNoRows) {
    const Job job;
    RowKeys keys = line(3);
    keys.is_hidden[1] = 1;
    keys.values[0][1] = std::nan("");
    const SharedRows rows(job, keys, 3);
    EXPECT_EQ(n_chosen(job, rows), 2);
    const auto all = rows.spread(job, std::vector<double>(rows.chosen().size(), 1.0));
    EXPECT_EQ(all[0], 1.0);
    EXPECT_TRUE(std::isnan(all[1]));
}

TEST(SharedRows, MinusZeroIsZeroAndRanksMayBeEmpty) {
    const Job job;
    RowKeys keys = job.is_root() ? line(0) : line(1);
    if (!job.is_root() && job.rank() % 2 == 0) keys.x[0] = -0.0;
    const SharedRows rows(job, keys, job.is_root() ? 0 : 1);
    EXPECT_EQ(n_chosen(job, rows), job.size() == 1 ? 0 : 1);
    EXPECT_EQ(rows.n_split(), 0);
}

}  // namespace
}  // namespace surrogate::test
