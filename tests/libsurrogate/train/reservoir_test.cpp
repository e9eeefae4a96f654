// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/train/reservoir.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace surrogate::test {
namespace {

TEST(Reservoir, KeepsAllUntilItIsFull) {
    impl::Reservoir reservoir(4, 7, 0);
    for (int64_t i = 0; i < 4; ++i) {
        EXPECT_EQ(reservoir.next_slot(), i);
        reservoir.slot(i);
        reservoir.note_given(i);
    }
    EXPECT_EQ(reservoir.n_kept(), 4);
    for (int64_t i = 0; i < 100; ++i) {
        const int64_t slot = reservoir.next_slot();
        EXPECT_LT(slot, 4);
        EXPECT_EQ(slot, reservoir.next_slot()) << "asking changes nothing";
        reservoir.note_given(slot);
    }
    EXPECT_EQ(reservoir.n_kept(), 4);
    EXPECT_EQ(reservoir.n_given(), 104);
}

TEST(Reservoir, KeepsEachSampleWithEqualChance) {
    // 20000 reservoirs of 5 out of 25: each sample 4000 times, give or take 5 deviations of 57.
    std::vector<int> n_kept(25);
    for (int64_t seed = 0; seed < 20000; ++seed) {
        impl::Reservoir reservoir(5, seed, 0);
        std::vector<size_t> kept(5);
        for (size_t i = 0; i < n_kept.size(); ++i) {
            const int64_t slot = reservoir.next_slot();
            if (slot >= 0) kept[static_cast<size_t>(slot)] = i;
            reservoir.note_given(slot);
        }
        for (const size_t i : kept) ++n_kept[i];
    }
    for (size_t i = 0; i < n_kept.size(); ++i) EXPECT_NEAR(n_kept[i], 4000, 285) << i;
}

TEST(Reservoir, GoesOnFromItsCounts) {
    impl::Reservoir first(3, 11, 2), second(3, 11, 2), other(3, 11, 1);
    for (int64_t i = 0; i < 10; ++i) first.note_given(first.next_slot());
    for (int64_t i = 0; i < 5; ++i) first.draw();
    second.set_counts(first.n_kept(), first.n_given(), first.n_drawn());
    other.set_counts(first.n_kept(), first.n_given(), first.n_drawn());
    std::vector<int64_t> draws, same, different;
    for (int64_t i = 0; i < 50; ++i) {
        draws.push_back(first.draw());
        same.push_back(second.draw());
        different.push_back(other.draw());
        EXPECT_EQ(first.next_slot(), second.next_slot());
    }
    EXPECT_EQ(draws, same);
    EXPECT_NE(draws, different);
}

TEST(Reservoir, WithoutRoomKeepsNothing) {
    impl::Reservoir reservoir(0, 1, 0);
    EXPECT_EQ(reservoir.next_slot(), -1);
    reservoir.note_given(-1);
    EXPECT_EQ(reservoir.n_kept(), 0);
}

}  // namespace
}  // namespace surrogate::test
