// SPDX-License-Identifier: Apache-2.0
// Sums without rounding: against numbers known by hand, in any order, and split over ranks.
#include "coupling/timeloop/exact_sum.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "tests/support/trap_guard.hpp"

namespace surrogate::timeloop {
namespace {

using Terms = std::vector<double>;

double value_of(ExactSum& sum) {
    double limbs[ExactSum::n_limb];
    sum.write(limbs);
    return ExactSum::value(limbs);
}

double sum_of(const Terms& terms) {
    ExactSum sum;
    sum.add(terms.data(), std::ssize(terms));
    return value_of(sum);
}

double sum_one_by_one(const Terms& terms) {
    ExactSum sum;
    for (const double term : terms) sum.add(term);
    return value_of(sum);
}

struct Case {
    const char* name;
    Terms terms;
    double sum;
};

constexpr double tiny = std::numeric_limits<double>::denorm_min();
constexpr double largest = std::numeric_limits<double>::max();

TEST(ExactSum, GivesWhatAPencilGives) {
    const Case cases[] = {
        {"nothing", {}, 0},
        {"zeros of both signs", {0.0, -0.0}, 0},
        {"one", {1}, 1},
        {"cancellation", {1e308, 1e-308, -1e308}, 1e-308},
        {"cancellation of all", {1e308, 1e-308, -1e308, -1e-308}, 0},
        {"the smallest numbers", {tiny, tiny, -3 * tiny}, -tiny},
        {"the smallest beside the largest", {largest, tiny, -largest}, tiny},
        {"a sum that passes the largest number", {largest, largest, -largest}, largest},
        {"a sum beyond it", {largest, largest}, INFINITY},
        {"a negative sum beyond it", {-largest, -largest}, -INFINITY},
        {"half a unit: to even, down", {1, 0x1p-53}, 1},
        {"half a unit: to even, up", {1 + 0x1p-52, 0x1p-53}, 1 + 0x1p-51},
        {"a trace more than half a unit", {1, 0x1p-53, tiny}, 1 + 0x1p-52},
        {"a trace less", {1, 0x1p-53, -tiny}, 1},
        {"negative, a trace more", {-1, -0x1p-53, -tiny}, -1 - 0x1p-52},
        {"denormal results", {0x1p-1022, -tiny}, 0x1p-1022 - tiny},
        {"bits far apart in one chunk", {0x1p200, 0x1p100, 1, 0x1p-100, -0x1p200}, 0x1p100},
    };
    for (const Case& c : cases) {
        const test::TrapGuard traps;
        EXPECT_EQ(sum_of(c.terms), c.sum) << c.name;
        EXPECT_EQ(sum_one_by_one(c.terms), c.sum) << c.name;
    }
}

/// Numbers with exponents from -spread to spread.
Terms random_terms(int64_t n, int spread, uint32_t seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> fraction(-1, 1);
    std::uniform_int_distribution<int> exponent(-spread, spread);
    Terms terms;
    for (int64_t i = 0; i < n; ++i) terms.push_back(std::ldexp(fraction(random), exponent(random)));
    return terms;
}

TEST(ExactSum, DoesNotDependOnOrderOrGrouping) {
    for (const int spread : {0, 3, 30, 60, 300, 1000}) {
        for (const int64_t n : {1, 2, 1023, 1024, 1025, 5000}) {
            Terms terms = random_terms(n, spread, 1);
            const double expected = sum_one_by_one(terms);
            for (uint32_t seed = 1; seed < 5; ++seed) {
                EXPECT_EQ(sum_of(terms), expected) << "exponents up to " << spread << ", n " << n;
                std::shuffle(terms.begin(), terms.end(), std::mt19937(seed));
            }
        }
    }
}

/// Terms of which a long double holds all partial sums exactly.
TEST(ExactSum, IsTheSumOfLongDoubles) {
    std::mt19937_64 random(1);
    for (int round = 0; round < 200; ++round) {
        Terms terms;
        long double sum = 0;
        for (int i = 0; i < 1000; ++i) {
            const auto units = static_cast<int64_t>(random() >> 12) - (int64_t{1} << 51);
            terms.push_back(static_cast<double>(units));
            sum += static_cast<long double>(units);
        }
        EXPECT_EQ(sum_of(terms), static_cast<double>(sum));
    }
}

TEST(ExactSum, IsTheSameSplitOverRanks) {
    const Terms terms = random_terms(3001, 200, 3);
    const double whole = sum_of(terms);
    for (const size_t n_rank : {2, 3, 17}) {
        std::vector<ExactSum> sums(n_rank);
        for (size_t i = 0; i < terms.size(); ++i) sums[i * i % n_rank].add(terms[i]);
        double total[ExactSum::n_limb] = {}, limbs[ExactSum::n_limb];
        for (ExactSum& sum : sums) {
            sum.write(limbs);
            for (int l = 0; l < ExactSum::n_limb; ++l) total[l] += limbs[l];
        }
        EXPECT_EQ(ExactSum::value(total), whole) << n_rank << " ranks";
    }
}

/// Limbs of negative sums too: their doubles are integers small enough for a million ranks.
TEST(ExactSum, SendsLimbsOfWhichAMillionAddExactly) {
    for (const double term : {1.0, -1.0, -tiny, largest, -largest}) {
        ExactSum sum;
        for (int i = 0; i < 1000; ++i) sum.add(term);
        double limbs[ExactSum::n_limb];
        sum.write(limbs);
        for (const double limb : limbs) {
            EXPECT_LT(std::abs(limb), 0x1p32);
            EXPECT_EQ(limb, std::nearbyint(limb));
        }
    }
}

TEST(ExactSum, GoesOnAfterItsLimbsWereWritten) {
    ExactSum sum;
    sum.add(-3);
    EXPECT_EQ(value_of(sum), -3);
    sum.add(5);
    EXPECT_EQ(value_of(sum), 2);
    sum.clear();
    EXPECT_EQ(value_of(sum), 0);
}

TEST(ExactSum, IsExactInAnyRoundingMode) {
    const Terms terms = random_terms(2000, 40, 5);
    ExactSum nearest, upward;
    nearest.add(terms.data(), std::ssize(terms));
    std::fesetround(FE_UPWARD);
    upward.add(terms.data(), std::ssize(terms));
    std::fesetround(FE_TONEAREST);
    EXPECT_EQ(value_of(nearest), value_of(upward));
}

}  // namespace
}  // namespace surrogate::timeloop
