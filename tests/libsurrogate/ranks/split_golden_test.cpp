// SPDX-License-Identifier: Apache-2.0
// Trees against stored ones: of the specification's program, and of the published package
// (balltree-erwin 0.1.0), which agrees in the points of every node and leaves the rest open.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "libsurrogate/src/ranks/split_rules.hpp"
#include "tests/support/golden_file.hpp"
#include "tests/support/split_reference.hpp"

namespace surrogate::test {
namespace {

const std::string data = SURROGATE_TEST_DATA;

/// Rows in the order of the leaves.
std::vector<int64_t> leaves(const Cloud& cloud, const impl::SplitRule& rule) {
    const auto alone = impl::self_communicator();
    const int64_t begins[] = {0, cloud.n()};
    const std::vector<int64_t> positions = impl::split_positions(
        *alone, kernels::Queue(), {cloud.n_axis, cloud.x, cloud.ids}, rule, begins);
    std::vector<int64_t> order(positions.size());
    for (size_t row = 0; row < positions.size(); ++row)
        order[static_cast<size_t>(positions[row])] = static_cast<int64_t>(row);
    return order;
}

Cloud cloud_of_rows(const GoldenTensor& positions) {
    const int64_t n = positions.shape.at(0), n_axis = positions.shape.at(1);
    Cloud cloud{static_cast<int>(n_axis), {}, {}};
    for (int64_t axis = 0; axis < n_axis; ++axis)
        for (int64_t i = 0; i < n; ++i)
            cloud.x.push_back(positions.values[static_cast<size_t>(i * n_axis + axis)]);
    cloud.ids.resize(static_cast<size_t>(n));
    std::iota(cloud.ids.begin(), cloud.ids.end(), int64_t{0});
    return cloud;
}

Cloud input_of(const GoldenFile& file) {
    Cloud cloud = cloud_of_rows(file.tensor("check/input/positions"));
    cloud.ids = file.integers("check/input/gid");
    return cloud;
}

/// Points of the slots that hold an original.
std::vector<int64_t> originals(const GoldenFile& file, const std::string& prefix,
                               const std::string& kind = "") {
    const std::vector<int64_t> slots = file.integers(prefix + kind + "idx");
    const std::vector<double> mask = file.tensor(prefix + kind + "mask").values;
    std::vector<int64_t> points;
    for (size_t slot = 0; slot < slots.size(); ++slot)
        if (mask[slot] != 0) points.push_back(slots[slot]);
    return points;
}

class OfficialTree : public testing::TestWithParam<const char*> {
protected:
    const GoldenFile file_{data + "/bsa/tree_official.safetensors"};
    const std::string prefix_ = std::string("check/") + GetParam() + "/";
    const Cloud cloud_ = cloud_of_rows(file_.tensor(prefix_ + "positions"));
    const std::vector<int64_t> leaves_ = leaves(cloud_, impl::BallRule(cloud_.n()));
};

TEST_P(OfficialTree, HasTheLeavesOfTheSpecification) {
    EXPECT_EQ(leaves_, originals(file_, prefix_));
}

TEST_P(OfficialTree, HasTheNodesOfThePackage) {
    const std::vector<int64_t> slots = file_.integers(prefix_ + "idx");
    const std::vector<int64_t> official = file_.integers(prefix_ + "official_idx");
    ASSERT_EQ(file_.tensor(prefix_ + "mask").values,
              file_.tensor(prefix_ + "official_mask").values);
    for (size_t size = 2; size <= slots.size(); size *= 2) {
        for (size_t begin = 0; begin < slots.size(); begin += size) {
            const auto nodes_points = [&](const std::vector<int64_t>& tree) {
                std::vector<int64_t> points(tree.begin() + static_cast<int64_t>(begin),
                                            tree.begin() + static_cast<int64_t>(begin + size));
                std::ranges::sort(points);
                return points;
            };
            ASSERT_EQ(nodes_points(slots), nodes_points(official)) << begin << ", " << size;
        }
    }
}

TEST_P(OfficialTree, OfRotatedSlotsHasTheOrderOfTheSpecification) {
    constexpr double a = 0x1.6a09e667f3bcdp-1, b = -0x1.6a09e667f3bccp-1;
    constexpr double rotation_2d[] = {a, b, -b, a};
    constexpr double rotation_3d[] = {
        0x1.0000000000001p-1, -0x1.2bec333018868p-3, 0x1.b504f333f9de5p-1,  0x1.0p-1,
        0x1.b504f333f9de6p-1, -0x1.2bec333018868p-3, -0x1.6a09e667f3bccp-1, 0x1.0p-1,
        0x1.0000000000001p-1};
    const int n_axis = cloud_.n_axis;
    const double* const rotation = n_axis == 2 ? rotation_2d : rotation_3d;
    const std::vector<int64_t> points = file_.integers(prefix_ + "idx");
    Cloud slots{n_axis, {}, {}};
    for (int k = 0; k < n_axis; ++k) {
        for (const int64_t point : points) {
            double sum = 0;
            for (int axis = 0; axis < n_axis; ++axis)
                sum += cloud_.at(axis, point) * rotation[axis * n_axis + k];
            slots.x.push_back(sum);
        }
    }
    slots.ids.resize(points.size());
    std::iota(slots.ids.begin(), slots.ids.end(), int64_t{0});
    EXPECT_EQ(leaves(slots, impl::HalvesRule()), file_.integers(prefix_ + "rotated_perm"));
}

INSTANTIATE_TEST_SUITE_P(Clouds, OfficialTree,
                         testing::Values("d2_n3", "d2_n13", "d2_n64", "d2_n97", "d2_n257",
                                         "d2_n1000", "d3_n3", "d3_n13", "d3_n64", "d3_n97",
                                         "d3_n257", "d3_n1000"),
                         [](const auto& name) { return std::string(name.param); });

TEST(GoldenTree, OfShuffledIdsHasTheStoredLeaves) {
    const GoldenFile file(data + "/bsa/bsa_medium.safetensors");
    const Cloud cloud = input_of(file);
    EXPECT_EQ(leaves(cloud, impl::BallRule(cloud.n())), originals(file, "check/tree/"));
}

TEST(GoldenTree, OfBranchesHasTheStoredLeaves) {
    const struct {
        const char* name;
        int64_t k;
    } files[] = {{"points_2d_k16", 16}, {"points_features_grad", 3}};
    for (const auto& [name, k] : files) {
        const GoldenFile file(data + "/sequoia/" + name + ".safetensors");
        EXPECT_EQ(leaves(input_of(file), impl::BranchRule(k)), file.integers("check/tree/perm"))
            << name;
    }
}

TEST(TreeByHand, OfThirteenPoints) {
    Cloud cloud{3, std::vector<double>(39), {}};
    for (int64_t j = 0; j < 39; ++j) {
        cloud.x[static_cast<size_t>(j % 3 * 13 + j / 3)] =
            static_cast<float>(std::sin(1.3 * static_cast<double>(j) + 0.6));
    }
    for (int64_t i = 0; i < 13; ++i) cloud.ids.push_back(i);
    const std::vector<int64_t> expected{12, 7, 2, 10, 5, 0, 4, 9, 1, 6, 11, 3, 8};
    EXPECT_EQ(leaves(cloud, impl::BallRule(13)), expected);
}

TEST(TreeByHand, OfTiedPoints) {
    const Cloud cloud{2, {0, 1, 0, 1, 0, 1, 0, 0, 1, 1, 0, 1}, {0, 1, 2, 3, 4, 5}};
    const std::vector<int64_t> expected{0, 4, 2, 1, 3, 5};
    EXPECT_EQ(leaves(cloud, impl::BallRule(6)), expected);
}

TEST(TreeByHand, OfBranchesFillsAllBlocksButTheLast) {
    // 10 points, k = 3: u = 9, 2 blocks: 9 + 1. 9: u = 3, 3 blocks: 3 + 6. 6: 2 blocks of 3.
    const impl::BranchRule rule(3);
    EXPECT_EQ(rule.left(10, 0), 9);
    EXPECT_EQ(rule.left(9, 1), 3);
    EXPECT_EQ(rule.left(6, 2), 3);
    EXPECT_EQ(rule.left(3, 3), 1);
    EXPECT_EQ(rule.left(2, 4), 0);
    EXPECT_EQ(rule.left(28, 0), 27);
    EXPECT_EQ(impl::BranchRule(16).left(int64_t{1} << 60, 0), int64_t{1} << 59);
}

TEST(TreeByHand, OfBallsEndsWithTheSlots) {
    const impl::BallRule rule(5);  // 8 slots
    EXPECT_EQ(rule.left(5, 0), 2);
    EXPECT_EQ(rule.left(3, 1), 1);
    EXPECT_EQ(rule.left(2, 1), 1);
    EXPECT_EQ(rule.left(2, 2), 0);
    EXPECT_EQ(rule.left(1, 2), 0);
}

}  // namespace
}  // namespace surrogate::test
