// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "libsurrogate/src/model/bsa/slots.hpp"
#include "tests/support/golden_file.hpp"

namespace surrogate::test {
namespace {

using impl::bsa::Slots;
using Numbers = std::vector<int64_t>;

Numbers positions_of(const Slots& slots) {
    Numbers list;
    for (int64_t s = 0; s < slots.n_slot(); ++s) list.push_back(slots.at(s).position);
    return list;
}

Numbers originals_of(const Slots& slots) {
    Numbers list;
    for (int64_t s = 0; s < slots.n_slot(); ++s) list.push_back(slots.at(s).is_original ? 1 : 0);
    return list;
}

/// By the definition: a node gives floor(p/2) of its p points to the left half of its slots.
void fill(Numbers& slots, int64_t first_slot, int64_t n_slot, int64_t first_point, int64_t p) {
    if (n_slot <= 2) {
        for (int64_t s = 0; s < n_slot; ++s)
            slots[static_cast<size_t>(first_slot + s)] = first_point + std::min(s, p - 1);
        return;
    }
    fill(slots, first_slot, n_slot / 2, first_point, p / 2);
    fill(slots, first_slot + n_slot / 2, n_slot / 2, first_point + p / 2, p - p / 2);
}

TEST(BsaSlots, HoldThePointsOfTheTreeByItsDefinition) {
    for (int64_t n = 1; n <= 300; ++n) {
        const Slots slots(n, 2);
        Numbers expected(static_cast<size_t>(slots.n_slot()));
        fill(expected, 0, slots.n_slot(), 0, n);
        EXPECT_EQ(positions_of(slots), expected) << n << " points";
    }
}

TEST(BsaSlots, CountTheOriginalsBeforeThem) {
    for (const int64_t n : {1, 2, 3, 5, 13, 64, 97, 200}) {
        for (const int64_t least : {2, 8, 64}) {
            const Slots slots(n, least);
            int64_t before = 0;
            for (int64_t s = 0; s < slots.n_slot(); ++s) {
                EXPECT_EQ(slots.points_before(s), before) << n << " points, slot " << s;
                if (!slots.at(s).is_original) continue;
                EXPECT_EQ(slots.at(s).position, before++);
            }
            EXPECT_EQ(before, n);
            EXPECT_EQ(slots.points_before(slots.n_slot()), n);
        }
    }
}

TEST(BsaSlots, AreThoseOfTheStoredTrees) {
    for (const char* name : {"bsa_small_grad", "bsa_n5", "bsa_medium", "bsa_1d", "full_baseline",
                             "bsa_features_rotated_ball"}) {
        const GoldenFile file(SURROGATE_TEST_DATA "/bsa/" + std::string(name) + ".safetensors");
        const std::vector<double> rows = file.tensor("check/tree/idx").values;
        const std::vector<double> mask = file.tensor("check/tree/mask").values;
        const Slots slots(file.tensor("check/input/positions").shape[0],
                          std::string(name) == "bsa_n5" ? std::ssize(rows) : 2);
        ASSERT_EQ(slots.n_slot(), std::ssize(rows)) << name;
        EXPECT_EQ(originals_of(slots), Numbers(mask.begin(), mask.end())) << name;
        // Slots of one point hold the same row, and no others do.
        Numbers row_of(static_cast<size_t>(slots.n_point()), -1);
        for (int64_t s = 0; s < slots.n_slot(); ++s) {
            const auto position = static_cast<size_t>(slots.at(s).position);
            const auto row = static_cast<int64_t>(rows[static_cast<size_t>(s)]);
            if (row_of[position] < 0) row_of[position] = row;
            EXPECT_EQ(row_of[position], row) << name << ", slot " << s;
        }
        std::ranges::sort(row_of);
        for (size_t i = 0; i < row_of.size(); ++i) EXPECT_EQ(row_of[i], static_cast<int64_t>(i));
    }
}

TEST(BsaSlots, OfSmallCloudsAreRepeatedInTheirPlace) {
    EXPECT_EQ(positions_of(Slots(1, 8)), Numbers(8, 0));
    EXPECT_EQ(positions_of(Slots(2, 8)), (Numbers{0, 0, 0, 0, 1, 1, 1, 1}));
    EXPECT_EQ(positions_of(Slots(3, 8)), (Numbers{0, 0, 0, 0, 1, 1, 2, 2}));
    EXPECT_EQ(originals_of(Slots(3, 8)), (Numbers{1, 0, 0, 0, 1, 0, 1, 0}));
    EXPECT_EQ(Slots(0, 8).n_slot(), 0);
}

TEST(BsaSlots, AreSharedInWholeBalls) {
    const Slots slots(200, 2);
    EXPECT_EQ(slots.begins(32, 3), (Numbers{0, 96, 192, 256}));
    EXPECT_EQ(slots.point_begins({0, 96, 192, 256}),
              (Numbers{0, slots.points_before(96), slots.points_before(192), 200}));
    EXPECT_EQ(slots.begins(256, 3), (Numbers{0, 256, 256, 256})) << "one ball has one owner";
    EXPECT_EQ(Slots(2, 8).begins(2, 2), (Numbers{0, 8, 8}))
        << "copies of a point stay with their original";
    EXPECT_EQ(Slots(0, 8).begins(4, 2), (Numbers{0, 0, 0}));
}

TEST(BsaSlots, WithoutATreeAreThePoints) {
    const Slots slots = Slots::without_copies(6);
    EXPECT_EQ(positions_of(slots), (Numbers{0, 1, 2, 3, 4, 5}));
    EXPECT_EQ(slots.points_before(4), 4);
}

}  // namespace
}  // namespace surrogate::test
