// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "libsurrogate/src/ranks/row_route.hpp"
#include "libsurrogate/src/transport/mpi_communicator.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

using impl::RowRoute;

constexpr int64_t n_global = 101, width = 3;  // a prime, and numbers a row

/// A permutation of the rows.
int64_t position_of(int64_t row) {
    return (row * 37 + 11) % n_global;
}

/// Ranges of a named partition, whose rows are consecutive: where they begin, and n_global.
std::vector<int64_t> begins_of(const char* kind) {
    std::vector<int64_t> begins = {0};
    for (int rank = 0; rank < size_of(world); ++rank) {
        int64_t n = 0;
        check(surrogate_partition(kind, n_global, rank, size_of(world), nullptr, &n));
        begins.push_back(begins.back() + n);
    }
    return begins;
}

struct Case {
    const char* origin;
    const char* target;
};

class RowRoutes : public testing::TestWithParam<Case> {
protected:
    std::vector<int64_t> own_positions() const {
        std::vector<int64_t> positions;
        for (const int64_t row : own_rows(GetParam().origin, n_global, world))
            positions.push_back(position_of(row));
        return positions;
    }
    const std::unique_ptr<impl::Communicator> comm_ = impl::mpi_communicator(world);
    const std::vector<int64_t> begins_ = begins_of(GetParam().target);
};

/// Rows whose numbers say which position they belong to.
std::vector<int64_t> rows_at(const std::vector<int64_t>& positions) {
    std::vector<int64_t> rows;
    for (const int64_t p : positions)
        for (int64_t c = 0; c < width; ++c) rows.push_back(p * width + c);
    return rows;
}

TEST_P(RowRoutes, BringRowsToTheirPositionsAndBack) {
    const std::vector<int64_t> positions = own_positions();
    const RowRoute route(*comm_, positions, begins_);
    const auto rank = static_cast<size_t>(comm_->rank());
    EXPECT_EQ(route.n_origin(), std::ssize(positions));
    EXPECT_EQ(route.target_rows().begin, begins_[rank]);
    EXPECT_EQ(route.target_rows().end, begins_[rank + 1]);
    EXPECT_EQ(route.scratch_rows(), std::ssize(positions) + route.target_rows().size());

    std::vector<int64_t> held;
    for (int64_t p = begins_[rank]; p < begins_[rank + 1]; ++p) held.push_back(p);
    const std::vector<int64_t> origin = rows_at(positions), target = rows_at(held);
    std::vector<int64_t> scratch(static_cast<size_t>(route.scratch_rows() * width));
    std::vector<int64_t> arrived(target.size(), -1), returned(origin.size(), -1);
    route.reserve(*comm_, 8 * width);
    route.to_target(*comm_, origin.data(), scratch.data(), arrived.data(), 8 * width);
    EXPECT_EQ(arrived, target);
    route.to_origin(*comm_, arrived.data(), scratch.data(), returned.data(), 8 * width);
    EXPECT_EQ(returned, origin);
}

TEST_P(RowRoutes, ThatDoNotFillTheirRangesAreRefusedOnAllRanks) {
    const auto expect_refused = [&](int64_t wrong, const std::string& text) {
        std::vector<int64_t> positions = own_positions();
        for (int64_t& p : positions) p = p == n_global - 1 ? wrong : p;
        const Refusal found = refusal([&] { RowRoute(*comm_, positions, begins_); });
        EXPECT_EQ(found.status, kernels::Status::internal);
        EXPECT_TRUE(found.says(text)) << found.text;
        EXPECT_TRUE(ranks_still_talk(world));
    };
    expect_refused(n_global, ".. 101 of 101");
    expect_refused(-1, "positions -1 ..");
    // Two rows at position 0, which another rank holds than the last one.
    if (begins_[static_cast<size_t>(comm_->size()) - 1] > 0) expect_refused(0, "rows arrive for");
}

INSTANTIATE_TEST_SUITE_P(Partitions, RowRoutes,
                         testing::Values(Case{"contiguous", "uneven"},
                                         Case{"scattered", "contiguous"},
                                         Case{"uneven", "contiguous"}),
                         [](const auto& c) {
                             return std::string(c.param.origin) + "_to_" + c.param.target;
                         });

}  // namespace
}  // namespace surrogate::test
