// SPDX-License-Identifier: Apache-2.0
// Cuts of values that are on several ranks, against a sort of all of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "libsurrogate/src/ranks/select_values.hpp"
#include "libsurrogate/src/transport/mpi_communicator.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

class SelectValues : public testing::TestWithParam<int> {
protected:
    /// Values below 2^n_bit, of all ranks; some ranks may have none.
    std::vector<uint64_t> values(int64_t n, int n_bit, uint64_t seed) {
        std::mt19937_64 random(seed * 64 + static_cast<uint64_t>(n_bit));
        std::vector<uint64_t> own;
        for (int64_t i = 0; i < n; ++i) {
            const uint64_t value = n_bit == 0 ? 0 : random() >> (64 - n_bit);
            // Some occur often, so that cuts fall between equal ones.
            const uint64_t tied = random() % 3 == 0 ? value >> (n_bit / 2) : value;
            if (static_cast<int>(random() % 7) % size_of(world) == rank_of(world))
                own.push_back(tied);
        }
        return own;
    }

    void expect_cut(const std::vector<uint64_t>& all, const impl::Selection& found) {
        std::vector<uint64_t> sorted = all;
        std::ranges::sort(sorted);
        const auto below =
            std::ranges::count_if(all, [&](uint64_t value) { return value < found.bound; });
        EXPECT_EQ(found.n_below, below);
        EXPECT_LE(found.n_below, found.n_left);
        if (found.n_below == found.n_left) return;
        EXPECT_EQ(sorted[static_cast<size_t>(found.n_left)], found.bound);
    }

    const std::unique_ptr<impl::Communicator> comm_ = impl::mpi_communicator(world);
};

TEST_P(SelectValues, CutsAtEveryPlace) {
    const std::vector<uint64_t> own = values(90, GetParam(), 1);
    const std::vector<uint64_t> all = gathered(own, world);
    const int64_t step = size_of(world) <= 3 ? 1 : 4;  // many ranks are slow on few cores
    for (const int n_thread : {1, 3}) {
        const kernels::Queue queue(kernels::Backend::ref, kernels::VectorLevel::scalar, n_thread);
        // One after the other, and all at once: then digits are shorter.
        std::vector<std::vector<uint64_t>> copies(all.size() - 1, own);
        std::vector<impl::Selection> selections;
        for (int64_t left = 1; left < std::ssize(all); left += step) {
            std::vector<uint64_t> copy = own;
            impl::Selection one{copy, GetParam(), left};
            impl::select_values(*comm_, queue, std::span(&one, 1));
            expect_cut(all, one);
            selections.push_back({copies[static_cast<size_t>(left - 1)], GetParam(), left});
        }
        impl::select_values(*comm_, queue, selections);
        for (const impl::Selection& selection : selections) expect_cut(all, selection);
    }
}

INSTANTIATE_TEST_SUITE_P(Bits, SelectValues, testing::Values(0, 1, 8, 11, 12, 22, 33, 63, 64));

TEST(SelectNothing, IsDone) {
    const auto comm = impl::mpi_communicator(world);
    impl::select_values(*comm, kernels::Queue(), {});
    EXPECT_TRUE(ranks_still_talk(world));
}

}  // namespace
}  // namespace surrogate::test
