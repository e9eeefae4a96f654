// SPDX-License-Identifier: Apache-2.0
// Input of a tree from a domain: positions in the units of the network, and ids that settle ties.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "libsurrogate/src/domain/canonical_order.hpp"
#include "libsurrogate/src/domain/tree_points.hpp"
#include "libsurrogate/src/transport/mpi_communicator.hpp"
#include "tests/support/darcy_case.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/trap_guard.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

using impl::Column;
using impl::PointDomain;

/// Points of the rows of this rank, in two axes.
struct TreeDomain {
    explicit TreeDomain(bool has_ids, const char* partition = "scattered", int64_t n = 23)
        : rows(own_rows(partition, n, world)) {
        for (const int64_t row : rows) {
            x.push_back(1.0 / 3 + std::sin(static_cast<double>(row)));
            x.push_back(1e6 * static_cast<double>(row));
            ids.push_back(500 - 7 * row);
        }
        remake(has_ids);
    }

    void remake(bool has_ids) {
        const surrogate_points given{matrix(x.data(), std::ssize(rows), 2),
                                     has_ids ? ids.data() : nullptr, nullptr, nullptr};
        domain.emplace(std::make_shared<impl::Context>(impl::mpi_communicator(world),
                                                       impl::Options{}, impl::Placement{}),
                       &given);
    }

    /// Returns the columns as a plan has them, normalized.
    std::vector<Column> columns(int n_axis = 2, double std = 0.7) const {
        std::vector<Column> list;
        for (int axis = 0; axis < n_axis; ++axis) {
            Column column;
            column.data = const_cast<double*>(domain->coordinate(axis % 2));
            column.is_double = true;
            column.mean = 0.1;
            column.std = std;
            list.push_back(column);
        }
        return list;
    }

    impl::TreePoints tree(bool is_reproducible = false) const {
        return impl::tree_points(*domain, columns(), is_reproducible);
    }
    std::vector<int64_t> tree_ids(bool is_reproducible) const {
        const impl::TreePoints points = tree(is_reproducible);
        return {points.ids.begin(), points.ids.end()};
    }

    std::vector<int64_t> rows;
    std::vector<double> x;  // (n_local, 2)
    std::vector<int64_t> ids;
    std::optional<PointDomain> domain;
};

TEST(TreePoints, LieWhereTheNetworkSeesThem) {
    const TreeDomain given(true);
    const impl::TreePoints points = given.tree();
    const auto n = static_cast<int64_t>(given.rows.size());
    ASSERT_EQ(points.x.size(), 2 * n);
    for (int64_t i = 0; i < n; ++i) {
        for (int64_t axis = 0; axis < 2; ++axis) {
            EXPECT_EQ(points.x[axis * n + i],
                      static_cast<float>((given.x[static_cast<size_t>(2 * i + axis)] - 0.1) / 0.7));
        }
    }
}

TEST(TreePoints, HaveTheIdsOfTheDomain) {
    const TreeDomain given(true);
    EXPECT_EQ(given.tree_ids(false), given.ids);
    EXPECT_EQ(given.tree_ids(true), given.ids);
}

TEST(TreePoints, WithoutIdsAreNumberedThroughTheRanks) {
    const std::vector<int64_t> all = gathered(TreeDomain(false).tree_ids(false), world);
    for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], static_cast<int64_t>(i));
}

TEST(TreePoints, WithoutIdsHaveTheCanonicalOrderInReproducibleMode) {
    for (const char* partition : {"scattered", "contiguous", "uneven"}) {
        const TreeDomain given(false, partition);
        EXPECT_EQ(given.tree_ids(true), impl::canonical_positions(*given.domain));
    }
}

TEST(TreePoints, ThatAreEqualAreRefusedInReproducibleModeOnly) {
    TreeDomain given(false);
    for (size_t i = 0; i < given.rows.size(); ++i) {
        if (given.rows[i] != 4 && given.rows[i] != 20) continue;
        given.x[2 * i] = given.x[2 * i + 1] = 0.25;
    }
    given.remake(false);
    EXPECT_EQ(refusal([&] { given.tree(false); }).status, kernels::Status::success);
    const Refusal found = refusal([&] { given.tree(true); });
    EXPECT_EQ(found.status, kernels::Status::invalid_argument);
    EXPECT_TRUE(found.says("coordinates (0.25")) << found.text;
    EXPECT_TRUE(ranks_still_talk(world));
}

TEST(TreePoints, FarBeyondSinglePrecisionAreNamed) {
    TreeDomain given(true);
    for (size_t i = 0; i < given.rows.size(); ++i)
        if (given.rows[i] == 11) given.x[2 * i + 1] = 1e200;
    given.remake(true);
    const Refusal found = refusal([&] {
        const TrapGuard traps;
        given.tree();
    });
    EXPECT_EQ(found.status, kernels::Status::not_finite);
    EXPECT_TRUE(found.says("point with id 423") && found.says("coordinate 1 is 1e+200"))
        << found.text;
    EXPECT_TRUE(ranks_still_talk(world));
}

TEST(TreePoints, HaveOneToThreeAxes) {
    const TreeDomain given(true);
    for (const int n_axis : {0, 4}) {
        const Refusal found =
            refusal([&] { impl::tree_points(*given.domain, given.columns(n_axis), false); });
        EXPECT_EQ(found.status, kernels::Status::shape);
        EXPECT_TRUE(found.says("1 to 3 coordinates")) << found.text;
    }
    EXPECT_EQ(impl::tree_points(*given.domain, given.columns(3), false).x.size(),
              3 * static_cast<int64_t>(given.rows.size()));
}

}  // namespace
}  // namespace surrogate::test
