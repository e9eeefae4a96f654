// SPDX-License-Identifier: Apache-2.0
// Gradients of weights over chunks and threads of one rank.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "tests/libsurrogate/layers/gradient_chunks.hpp"
#include "tests/support/trap_guard.hpp"

namespace surrogate::test {
namespace {

class Gradients : public testing::Test {
protected:
    /// Chunk c goes to thread c % n_thread, in this order of chunks.
    std::vector<double> total(const std::vector<int>& chunks, int n_thread, int step,
                              GradientOrder order = GradientOrder::exact) const {
        GradientSums sums(*master, n_thread, order);
        for (const int number : chunks) add(sums, number % n_thread, chunk(*master, number, step));
        EXPECT_TRUE(sums.reduce(*self));
        return total_of(sums);
    }
    /// The exact sum, rounded, and the largest number of each tensor.
    void expect_near_sum(const std::vector<double>& found, const std::vector<int>& chunks, int step,
                         double tolerance) const {
        for (const auto& entry : master->entries()) {
            double largest = 0;
            for (const int number : chunks) {
                const std::vector<double> values = chunk(*master, number, step);
                for (int64_t i = entry.first; i < entry.first + entry.size; ++i)
                    largest = std::max(largest, std::abs(values[static_cast<size_t>(i)]));
            }
            for (int64_t i = entry.first; i < entry.first + entry.size; ++i) {
                long double sum = 0;
                for (const int number : chunks)
                    sum += chunk(*master, number, step)[static_cast<size_t>(i)];
                EXPECT_LE(std::abs(static_cast<double>(found[static_cast<size_t>(i)] - sum)),
                          tolerance * largest)
                    << entry.name << " " << i;
            }
        }
    }

    const std::shared_ptr<impl::MasterWeights> master = three_tensors();
    const std::unique_ptr<impl::Communicator> self = impl::self_communicator();
    const TrapGuard traps;
};

// A step of 0: chunks alike. Of 13: the uppermost piece rises now and then, of 45: with every
// chunk, of 100: by more than one piece. Negative: it is there from the beginning.
TEST_F(Gradients, ThatAreExactDoNotDependOnOrderThreadsAndGroups) {
    std::vector<int> chunks(9);
    std::iota(chunks.begin(), chunks.end(), 0);
    for (const int step : {0, 1, 13, 45, 100, -1, -13, -45, -100}) {
        const std::vector<double> expected = total(chunks, 1, step);
        expect_near_sum(expected, chunks, step, 9 * 0x1p-40);
        for (int turn = 0; turn < 20; ++turn) {
            std::vector<int> mixed = chunks;
            for (size_t i = mixed.size() - 1; i > 0; --i)
                std::swap(
                    mixed[i],
                    mixed[static_cast<size_t>(31 * turn + 7 * static_cast<int>(i)) % (i + 1)]);
            for (const int n_thread : {1, 2, 3, 16})
                ASSERT_EQ(total(mixed, n_thread, step), expected) << step << " " << n_thread;
        }
    }
}

TEST_F(Gradients, ThatAreNotExactAreSumsOfDoubles) {
    const std::vector<int> chunks = {0, 1, 2, 3, 4};
    for (const GradientOrder order : {GradientOrder::single, GradientOrder::real}) {
        for (const int n_thread : {1, 2, 3})
            expect_near_sum(total(chunks, n_thread, 3, order), chunks, 3, 10 * 0x1p-53);
    }
}

TEST_F(Gradients, OfNoChunksAreZeros) {
    for (const GradientOrder order :
         {GradientOrder::single, GradientOrder::real, GradientOrder::exact})
        for (const double g : total({}, 2, 0, order)) EXPECT_EQ(g, 0);
}

TEST_F(Gradients, ThatCancelAreZeros) {
    GradientSums sums(*master, 2, GradientOrder::exact);
    for (int number = 0; number < 5; ++number) {
        std::vector<double> values = chunk(*master, number, 17);
        add(sums, 0, values);
        for (double& value : values) value = -value;
        add(sums, 1, values);
    }
    ASSERT_TRUE(sums.reduce(*self));
    for (const double g : sums.total()) EXPECT_EQ(g, 0);
}

/// Down to 2^-960 with a piece of 40 bits behind the leading one, and not beyond.
TEST_F(Gradients, OfAnySizeAreSummed) {
    const size_t first = static_cast<size_t>(master->entries()[1].first);
    for (const double size : {0x1p959, 1e200, 1.0, 1e-200, 0x1p-959, 0x1p-960, 0x1p-961}) {
        GradientSums sums(*master, 1, GradientOrder::exact);
        std::vector<double> values(master->values().size());
        values[first] = size;
        values[first + 1] = -size / 3;
        add(sums, 0, values);
        add(sums, 0, values);
        ASSERT_TRUE(sums.reduce(*self));
        EXPECT_EQ(sums.total()[first], 2 * size) << size;
        EXPECT_LE(std::abs(sums.total()[first + 1] + 2 * size / 3), 0x1p-38 * size) << size;
    }
    GradientSums sums(*master, 1, GradientOrder::exact);
    std::vector<double> values(master->values().size(), 0x1p-1074);
    add(sums, 0, values);
    EXPECT_TRUE(sums.reduce(*self));
    for (const double g : sums.total()) EXPECT_LE(std::abs(g), 0x1p-1000);
}

TEST_F(Gradients, ThatAreNotFiniteOrTooLargeAreReportedOnce) {
    const double infinity = std::numeric_limits<double>::infinity();
    for (const GradientOrder order :
         {GradientOrder::single, GradientOrder::real, GradientOrder::exact}) {
        GradientSums sums(*master, 3, order);
        for (const double bad : {static_cast<double>(NAN), infinity, -infinity}) {
            std::vector<double> values = chunk(*master, 1, 0);
            values[static_cast<size_t>(master->entries()[1].first + 19)] = bad;
            sums.clear();
            add(sums, 2, values);
            EXPECT_FALSE(sums.reduce(*self)) << bad;
            sums.clear();
            add(sums, 2, chunk(*master, 1, 0));
            EXPECT_TRUE(sums.reduce(*self));
        }
        sums.clear();
        sums.poison();
        EXPECT_FALSE(sums.reduce(*self));
    }
    GradientSums sums(*master, 1, GradientOrder::exact);
    add(sums, 0, std::vector<double>(master->values().size(), 1e300));
    EXPECT_FALSE(sums.reduce(*self)) << "beyond 2^960 there are no exact sums";
}

TEST_F(Gradients, AreTakenOverTensorByTensor) {
    const std::vector<double> values = chunk(*master, 1, 0);
    const auto& entries = master->entries();
    GradientSums whole(*master, 1, GradientOrder::exact), parts(*master, 1, GradientOrder::exact);
    add(whole, 0, values);
    const std::span<double> arena = parts.open(0);
    std::ranges::copy(values, arena.begin());
    parts.close(0, entries[1].first, entries[2].first);
    for (int64_t i = 0; i < entries[2].first; ++i) {
        const bool is_taken = i >= entries[1].first;
        EXPECT_EQ(arena[static_cast<size_t>(i)], is_taken ? 0 : values[static_cast<size_t>(i)]);
    }
    parts.close(0, entries[2].first, std::ssize(arena));
    parts.close(0, 0, entries[1].first);
    ASSERT_TRUE(whole.reduce(*self));
    ASSERT_TRUE(parts.reduce(*self));
    EXPECT_EQ(total_of(parts), total_of(whole));
}

TEST_F(Gradients, OfAStepForgetThoseBefore) {
    for (const GradientOrder order : {GradientOrder::real, GradientOrder::exact}) {
        GradientSums sums(*master, 2, order);
        add(sums, 1, chunk(*master, 3, 50));
        sums.reduce(*self);
        sums.clear();
        add(sums, 0, chunk(*master, 1, 0));
        ASSERT_TRUE(sums.reduce(*self));
        GradientSums anew(*master, 2, order);
        add(anew, 0, chunk(*master, 1, 0));
        ASSERT_TRUE(anew.reduce(*self));
        EXPECT_EQ(total_of(sums), total_of(anew));
    }
}

}  // namespace
}  // namespace surrogate::test
