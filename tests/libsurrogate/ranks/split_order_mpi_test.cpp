// SPDX-License-Identifier: Apache-2.0
// Trees of points on several ranks against their definition.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "libsurrogate/src/ranks/partition.hpp"
#include "libsurrogate/src/ranks/split_rules.hpp"
#include "libsurrogate/src/transport/mpi_communicator.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/split_reference.hpp"
#include "tests/support/trap_guard.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

/// Rows of this rank. "last": all on the last rank.
std::vector<int64_t> rows_of(const std::string& partition, int64_t n) {
    if (partition != "last") return own_rows(partition.c_str(), n, world);
    std::vector<int64_t> rows;
    for (int64_t row = 0; row < n && rank_of(world) == size_of(world) - 1; ++row)
        rows.push_back(row);
    return rows;
}

class SplitOrderRanks : public testing::TestWithParam<std::string> {
protected:
    /// Returns the leaves of this rank's rows; leaves are distributed in blocks.
    std::vector<int64_t> positions(const Cloud& own, int64_t n, const impl::SplitRule& rule,
                                   int64_t block = 8, int n_thread = 1) {
        const kernels::Queue queue(kernels::Backend::ref, kernels::VectorLevel::scalar, n_thread);
        return impl::split_positions(*comm_, queue, {own.n_axis, own.x, own.ids}, rule,
                                     impl::block_begins(n, block, comm_->size()));
    }

    /// Compares with the definition, rank by rank.
    void expect_tree(const Cloud& cloud, const impl::SplitRule& rule, int64_t block = 8,
                     int n_thread = 1) {
        const std::vector<int64_t> rows = rows_of(GetParam(), cloud.n());
        const std::vector<int64_t> all = SplitReference(cloud, rule).positions();
        std::vector<int64_t> expected;
        for (const int64_t row : rows) expected.push_back(all[static_cast<size_t>(row)]);
        EXPECT_EQ(positions(cloud.rows(rows), cloud.n(), rule, block, n_thread), expected)
            << cloud.n() << " points in " << cloud.n_axis << " axes";
    }

    const std::unique_ptr<impl::Communicator> comm_ = impl::mpi_communicator(world);
};

TEST_P(SplitOrderRanks, OfFewPointsIsThatOfTheDefinition) {
    const TrapGuard traps;
    const int64_t step = size_of(world) <= 3 ? 1 : 5;  // many ranks are slow on few cores
    for (int64_t n = 0; n <= 130; n += step) {
        const std::string& kind = cloud_kinds()[static_cast<size_t>(n) % cloud_kinds().size()];
        const Cloud cloud = cloud_of(kind, n, 1 + static_cast<int>(n % 3));
        expect_tree(cloud, impl::BallRule(n), 16);
        expect_tree(cloud, impl::BranchRule(2 + n % 4), 3);
    }
}

TEST_P(SplitOrderRanks, OfManyPointsIsThatOfTheDefinition) {
    const TrapGuard traps;
    for (const std::string& kind : cloud_kinds()) {
        SCOPED_TRACE(kind);
        const Cloud dense = cloud_of(kind, 3586, 3, 1), sparse = cloud_of(kind, 1021, 2, 2);
        expect_tree(dense, impl::BallRule(dense.n()), 256);
        expect_tree(dense, impl::HalvesRule(256, true), 256);
        expect_tree(sparse, impl::BranchRule(3), 7, 2);
    }
}

INSTANTIATE_TEST_SUITE_P(Partitions, SplitOrderRanks,
                         testing::Values("contiguous", "scattered", "uneven", "last"),
                         [](const auto& kind) { return kind.param; });

}  // namespace
}  // namespace surrogate::test
