// SPDX-License-Identifier: Apache-2.0
// The door's reduction: the same numbers on all ranks, and arguments that one rank alone has wrong.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tests/support/ranks.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

class Reduce : public testing::Test {
protected:
    bool is(int rank) const { return context.rank() == rank; }
    int last() const { return context.size() - 1; }

    /// Expects the same error on all ranks, and that the next reduction works.
    void expect_refused(surrogate_status status, const char* part, surrogate_status call) {
        const Answer found = answer(call);
        EXPECT_EQ(found.status, status) << found;
        EXPECT_TRUE(found.says(part)) << found;
        EXPECT_EQ(found, answer_of_rank_0(found, world));
        EXPECT_EQ(context.reduce(SURROGATE_SUM, 1), context.size());
    }

    const Context context = mpi_context(world);
};

TEST_F(Reduce, SumsMaximaAndMinimaOfEveryValue) {
    constexpr int64_t n = 1000;  // more than one piece
    std::vector<double> sum, largest, least;
    for (int64_t i = 0; i < n; ++i)
        sum.push_back(static_cast<double>((i * 7 + context.rank() * 3) % 11) - 5);
    largest = least = sum;
    context.reduce(SURROGATE_SUM, n, sum.data());
    context.reduce(SURROGATE_MAX, n, largest.data());
    context.reduce(SURROGATE_MIN, n, least.data());
    for (int64_t i = 0; i < n; ++i) {
        double total = 0, most = -infinity, fewest = infinity;
        for (int rank = 0; rank < context.size(); ++rank) {
            const double value = static_cast<double>((i * 7 + rank * 3) % 11) - 5;
            total += value;
            most = std::max(most, value);
            fewest = std::min(fewest, value);
        }
        const auto at = static_cast<size_t>(i);
        EXPECT_EQ(sum[at], total) << i;
        EXPECT_EQ(largest[at], most) << i;
        EXPECT_EQ(least[at], fewest) << i;
    }
}

TEST_F(Reduce, NumbersAtTheEndsOfTheirRangeKeepTheirBits) {
    for (const double value : {0.0, -0.0, 5e-324, -5e-324, 1e308, -1e308, infinity, -infinity}) {
        for (const int32_t op : {SURROGATE_MAX, SURROGATE_MIN}) {
            const double found = context.reduce(op, value);
            EXPECT_EQ(found, value);
            EXPECT_EQ(std::signbit(found), std::signbit(value)) << value << " " << op;
        }
    }
    // The order has a -0 and a 0.
    const double zero = is(last()) ? -0.0 : 0.0;
    EXPECT_TRUE(std::signbit(context.reduce(SURROGATE_MIN, zero)));
    EXPECT_EQ(std::signbit(context.reduce(SURROGATE_MAX, zero)), context.size() == 1);
}

TEST_F(Reduce, NanOfAnyRankIsHeardByAll) {
    for (int culprit = 0; culprit <= last(); ++culprit) {
        for (const int32_t op : {SURROGATE_SUM, SURROGATE_MAX, SURROGATE_MIN}) {
            double values[] = {1, is(culprit) ? std::copysign(NAN, culprit - 1.0) : infinity, 2};
            context.reduce(op, 3, values);
            EXPECT_TRUE(std::isnan(values[1])) << culprit << " " << op;
            EXPECT_EQ(values[0], op == SURROGATE_SUM ? context.size() : 1);
        }
    }
}

TEST_F(Reduce, NoValuesAreFine) {
    EXPECT_EQ(surrogate_context_reduce(context.get(), SURROGATE_SUM, 0, nullptr),
              SURROGATE_SUCCESS);
}

TEST_F(Reduce, WrongArgumentsOfOneRankAreHeardByAll) {
    double value = 1;
    surrogate_context* const c = context.get();
    for (int culprit = 0; culprit <= last(); ++culprit) {
        const bool bad = is(culprit);
        expect_refused(SURROGATE_INVALID_ARGUMENT, "op is 3, expected SURROGATE_SUM",
                       surrogate_context_reduce(c, bad ? 3 : SURROGATE_SUM, 1, &value));
        expect_refused(SURROGATE_SHAPE, "n is -1",
                       surrogate_context_reduce(c, SURROGATE_MAX, bad ? -1 : 1, &value));
        expect_refused(SURROGATE_LIMIT, "n is 9223372036854775807",
                       surrogate_context_reduce(c, SURROGATE_SUM, bad ? INT64_MAX : 1, &value));
        expect_refused(SURROGATE_INVALID_ARGUMENT, "'values' is NULL",
                       surrogate_context_reduce(c, SURROGATE_MIN, 1, bad ? nullptr : &value));
    }
}

TEST_F(Reduce, CountsBeyondAnyMemoryAreRefused) {
    double value = 1;
    for (const int64_t n : {INT64_MAX, INT64_MAX / 8 + 1})
        expect_refused(SURROGATE_LIMIT, "expected at most",
                       surrogate_context_reduce(context.get(), SURROGATE_MAX, n, &value));
}

TEST_F(Reduce, RanksThatDisagreeAreRefused) {
    if (context.size() == 1) GTEST_SKIP() << "one rank cannot disagree";
    double values[2] = {1, 2};
    surrogate_context* const c = context.get();
    expect_refused(SURROGATE_INVALID_ARGUMENT, "n 1 .. 2",
                   surrogate_context_reduce(c, SURROGATE_SUM, is(0) ? 2 : 1, values));
    expect_refused(SURROGATE_INVALID_ARGUMENT, "op 0 .. 2",
                   surrogate_context_reduce(c, is(last()) ? 2 : 0, 2, values));
}

}  // namespace
}  // namespace surrogate::test
