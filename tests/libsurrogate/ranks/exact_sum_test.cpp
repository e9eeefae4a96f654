// SPDX-License-Identifier: Apache-2.0
#include "libsurrogate/src/ranks/exact_sum.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <vector>

namespace surrogate::impl {
namespace {

using Sum = std::array<int64_t, 2>;

Sum sum_of(const ExactGrid& grid, const std::vector<double>& terms, size_t first, size_t last) {
    Sum sum{};
    for (size_t i = first; i < last; ++i) grid.add(terms[i], sum.data(), 1);
    return sum;
}

std::vector<double> random_terms(int64_t n, double bound) {
    std::mt19937 random(20240);
    std::uniform_real_distribution<double> uniform(-bound, bound);
    std::vector<double> terms(static_cast<size_t>(n));
    for (double& term : terms) term = uniform(random);
    return terms;
}

// One limb up to 2^14 terms, two beyond.
class ExactSum : public testing::TestWithParam<int64_t> {};

TEST_P(ExactSum, AnyOrderAndGroupingGivesTheSameBits) {
    const double bound = 1024 * 3.7;
    std::vector<double> terms = random_terms(GetParam(), bound);
    const ExactGrid grid(GetParam(), bound);
    const Sum forward = sum_of(grid, terms, 0, terms.size());
    std::shuffle(terms.begin(), terms.end(), std::mt19937(1));
    Sum grouped{};
    for (size_t first = 0; first < terms.size(); first += 37) {
        const Sum part = sum_of(grid, terms, first, std::min(first + 37, terms.size()));
        grouped[0] += part[0];
        grouped[1] += part[1];
    }
    EXPECT_EQ(grid.value(forward.data(), 1), grid.value(grouped.data(), 1));
    EXPECT_EQ(forward, grouped);
}

TEST_P(ExactSum, EveryTermIsResolvedFarBelowTheBound) {
    const double bound = 5.0;
    const ExactGrid grid(GetParam(), bound);
    for (double term : random_terms(100, bound)) {
        Sum sum{};
        grid.add(term, sum.data(), 1);
        EXPECT_LE(std::abs(grid.value(sum.data(), 1) - term), bound * std::ldexp(1.0, -42)) << term;
    }
}

TEST(ExactRounding, GivesTheValueOfASumOfOneTerm) {
    for (const double bound : {0.0, 1024.0, 3.7, 1e-300, 1e300, 0x1p-1060, 0x1.8p1023}) {
        const ExactGrid grid(1, bound);
        const ExactRounding rounded(bound);
        std::vector<double> terms = random_terms(1000, 0.999);
        for (const double tiny : {0.0, -0.0, 1.0, -1.0, 0x1p-53, 0x1.8p-62, 0x1p-63, -0x1p-64})
            terms.push_back(tiny);
        for (const double term : terms) {
            int64_t sum[] = {0};
            grid.add(term * bound, sum, 1);
            const double expected = grid.value(sum, 1), found = rounded(term * bound);
            ASSERT_EQ(found, expected) << term << " * " << bound;
            ASSERT_EQ(std::signbit(found), std::signbit(expected)) << term << " * " << bound;
        }
    }
}

TEST_P(ExactSum, AllTermsAtTheBoundDoNotOverflow) {
    const int64_t n = GetParam();
    const double largest = std::nextafter(8.0, 0.0);  // just below a power of two: the worst case
    const ExactGrid grid(n, largest);
    Sum one{};
    grid.add(largest, one.data(), 1);
    const Sum all = {one[0] * n,
                     one[1] * n};  // the multiplication would be caught by the value below
    EXPECT_FALSE(__builtin_mul_overflow_p(one[0], n, int64_t{}));
    EXPECT_FALSE(__builtin_mul_overflow_p(one[1], n, int64_t{}));
    EXPECT_DOUBLE_EQ(grid.value(all.data(), 1), largest * static_cast<double>(n));
}

INSTANTIATE_TEST_SUITE_P(Terms, ExactSum,
                         testing::Values(1, 2, 3, 1000, 1 << 14, (1 << 14) + 1, 1 << 17));

TEST(ExactSumEdge, SecondLimbBeginsBeyondTwoToTheFourteen) {
    EXPECT_EQ(ExactGrid::limbs(1 << 14), 1);
    EXPECT_EQ(ExactGrid::limbs((1 << 14) + 1), 2);
}

TEST(ExactSumEdge, BoundOfZeroGivesZero) {
    const ExactGrid grid(10, 0.0);
    Sum sum{};
    grid.add(0.0, sum.data(), 1);
    EXPECT_EQ(grid.value(sum.data(), 1), 0.0);
}

TEST(ExactSumEdge, BoundsFarFromOneKeepTheirResolution) {
    for (double bound : {1e-30, 1e30}) {
        const ExactGrid grid(100, bound);
        Sum sum{};
        for (int i = 0; i < 100; ++i) grid.add(bound / 3, sum.data(), 1);
        EXPECT_NEAR(grid.value(sum.data(), 1) / bound, 100.0 / 3, 1e-10);
    }
}

}  // namespace
}  // namespace surrogate::impl
