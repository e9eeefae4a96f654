// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cfloat>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/base/error.hpp"
#include "kernels/hept/hept.hpp"
#include "tests/kernels/base/target.hpp"

namespace surrogate::kernels::hept::test {
namespace {

using surrogate::kernels::test::generator;

/// Members of a cell, ascending with gaps, among n_token tokens.
std::vector<int32_t> some_tokens(int64_t n, std::mt19937& random) {
    std::vector<int32_t> tokens(static_cast<size_t>(n));
    int32_t token = 0;
    for (int32_t& t : tokens) t = token += std::uniform_int_distribution<int32_t>(1, 5)(random);
    return tokens;
}

void expect_sorted(const std::vector<int32_t>& members, const std::vector<uint32_t>& hash,
                   int64_t first, int64_t end) {
    std::vector<int32_t> want = members, got(static_cast<size_t>(end - first) + 1, -1);
    std::ranges::stable_sort(want, {},
                             [&](int32_t token) { return hash[static_cast<size_t>(token)]; });
    std::vector<uint64_t> scratch(2 * members.size());
    order_cell(members, hash.data(), first, end, scratch, got.data());
    for (int64_t i = first; i < end; ++i)
        ASSERT_EQ(got[static_cast<size_t>(i - first)], want[static_cast<size_t>(i)])
            << "place " << i << " of " << members.size();
    EXPECT_EQ(got.back(), -1) << "written behind the part";
}

void expect_sorted_in_parts(int64_t n, const auto& hash_of, std::mt19937& random) {
    const std::vector<int32_t> members = some_tokens(n, random);
    std::vector<uint32_t> hash(static_cast<size_t>(5 * n) + 1);
    for (uint32_t& x : hash) x = hash_of();
    expect_sorted(members, hash, 0, n);
    expect_sorted(members, hash, n / 3, n - n / 4);
    expect_sorted(members, hash, n / 2, n / 2);
}

TEST(HeptOrder, IsThatOfAStableSort) {
    auto random = generator();
    std::normal_distribution<float> normal;
    for (const int64_t n : {0, 1, 2, 31, 32, 33, 100, 400, 3000}) {
        SCOPED_TRACE(n);
        expect_sorted_in_parts(
            n, [&] { return ordered_bits(3 * normal(random)); }, random);
        // Few values: mostly ties. One value: no digit differs. Any bits: all digits do.
        expect_sorted_in_parts(
            n, [&] { return ordered_bits(std::round(normal(random))); }, random);
        expect_sorted_in_parts(
            n, [] { return ordered_bits(-2.5f); }, random);
        expect_sorted_in_parts(
            n, [&] { return static_cast<uint32_t>(random()); }, random);
        // Two digits that differ and two that do not.
        expect_sorted_in_parts(
            n, [&] { return static_cast<uint32_t>(random()) & 0x00ff00ffU; }, random);
    }
}

TEST(HeptOrder, MembersNeedNotAscend) {
    const std::vector<int32_t> members = {7, 3, 5, 1};
    std::vector<uint32_t> hash(8, 9);
    hash[5] = 1;
    std::vector<uint64_t> scratch(8);
    std::vector<int32_t> order(4);
    order_cell(members, hash.data(), 0, 4, scratch, order.data());
    EXPECT_EQ(order, (std::vector<int32_t>{5, 7, 3, 1}));
}

TEST(HeptOrder, BitsAreOrderedAsTheirFloats) {
    const float ascending[] = {-FLT_MAX, -3.0f,   -1.5f, -FLT_MIN, -1e-45f, 0.0f,
                               1e-45f,   FLT_MIN, 1.0f,  1.5f,     FLT_MAX};
    for (size_t i = 1; i < std::size(ascending); ++i)
        EXPECT_LT(ordered_bits(ascending[i - 1]), ordered_bits(ascending[i])) << ascending[i];
    EXPECT_EQ(ordered_bits(-0.0f), ordered_bits(0.0f));
}

TEST(HeptOrder, ScratchThatIsTooSmallIsRefused) {
    const std::vector<int32_t> members = {0, 1};
    const std::vector<uint32_t> hash = {2, 1};
    std::vector<uint64_t> scratch(3);
    int32_t order[2];
    EXPECT_THROW(order_cell(members, hash.data(), 0, 2, scratch, order), Error);
}

}  // namespace
}  // namespace surrogate::kernels::hept::test
