// SPDX-License-Identifier: Apache-2.0
// The memory that a tree takes on a rank is what its header says.
#include <gtest/gtest.h>

#include <string>

#include "libsurrogate/src/ranks/partition.hpp"
#include "libsurrogate/src/ranks/split_rules.hpp"
#include "libsurrogate/src/transport/mpi_communicator.hpp"
#include "tests/support/memory_meter.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/split_reference.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

class SplitRoom : public testing::TestWithParam<std::pair<const char*, int64_t>> {};

TEST_P(SplitRoom, IsThatOfThePointsOfTheRank) {
    const auto& [kind, bytes] = GetParam();
    const auto comm = impl::mpi_communicator(world);
    const int64_t n_own = 20000, n = n_own * comm->size();
    const Cloud all = cloud_of(kind, n, 3);
    const Cloud own = all.rows(own_rows("scattered", n, world));
    const std::vector<int64_t> begins = impl::block_begins(n, 8, comm->size());
    const MemoryMeter meter;
    impl::split_positions(*comm, kernels::Queue(), {3, own.x, own.ids}, impl::BallRule(n), begins);
    EXPECT_LE(meter.peak_bytes(), n_own * bytes * 9 / 8) << meter.peak_bytes() / n_own;
}

INSTANTIATE_TEST_SUITE_P(Words, SplitRoom,
                         testing::Values(std::pair{"uniform", int64_t{110}},
                                         std::pair{"double", int64_t{150}}),
                         [](const auto& kind) { return std::string(kind.param.first); });

}  // namespace
}  // namespace surrogate::test
