// SPDX-License-Identifier: Apache-2.0
// The door's agreement: what one rank says of its own work, all ranks hear.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "tests/support/darcy_case.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

class Agree : public testing::Test {
protected:
    Answer agree(surrogate_status status, const char* text = nullptr) {
        return answer(surrogate_context_agree(context.get(), status, text));
    }
    bool is(int rank) const { return context.rank() == rank; }
    int last() const { return context.size() - 1; }

    /// On all ranks alike, in both places where a host may ask.
    void expect(const Answer& found, surrogate_status status, const std::string& text) {
        EXPECT_EQ(found.status, status) << found;
        EXPECT_EQ(found.text, text);
        EXPECT_EQ(surrogate_error(context.get()), text);
    }
    std::string named(int rank, const std::string& text) const {
        return context.size() == 1 ? text : "rank " + std::to_string(rank) + ": " + text;
    }

    Context context = mpi_context(world);
};

TEST_F(Agree, SuccessOfAllIsSuccess) {
    EXPECT_EQ(agree(SURROGATE_SUCCESS).status, SURROGATE_SUCCESS);
    EXPECT_EQ(agree(SURROGATE_SUCCESS, "not read").status, SURROGATE_SUCCESS);
}

TEST_F(Agree, EveryRankHearsTheFirstThatFailed) {
    for (int culprit = 0; culprit <= last(); ++culprit) {
        const Answer one = agree(is(culprit) ? SURROGATE_IO : SURROGATE_SUCCESS,
                                 is(culprit) ? "the restart file is too short" : nullptr);
        expect(one, SURROGATE_IO, named(culprit, "the restart file is too short"));
        const Answer some =
            agree(context.rank() < culprit ? SURROGATE_SUCCESS : 100 + context.rank(), "later");
        expect(some, 100 + culprit, named(culprit, "later"));
    }
}

TEST_F(Agree, TextIsThatOfTheLastFailureOfTheContext) {
    surrogate_status status = SURROGATE_SUCCESS;
    if (is(last())) {
        status = surrogate_context_describe(context.get(), nullptr, nullptr);
        EXPECT_EQ(status, SURROGATE_INVALID_ARGUMENT);
    }
    const Answer found = agree(status);
    expect(found, SURROGATE_INVALID_ARGUMENT, named(last(), "argument 'n_text' is NULL"));
    // Agreed once more, it keeps its rank, as it does when it is said by another one.
    expect(agree(found.status), found.status, found.text);
    expect(agree(is(0) ? found.status : SURROGATE_SUCCESS, found.text.c_str()), found.status,
           found.text);
}

TEST_F(Agree, TextThatOnlySoundsLikeARankGetsItsOwn) {
    const Answer found = agree(is(last()) ? SURROGATE_SHAPE : SURROGATE_SUCCESS, "rank deficient");
    expect(found, SURROGATE_SHAPE, named(last(), "rank deficient"));
}

// The reason is on the last rank; the others, first among them rank 0, only know that there is one.
TEST_F(Agree, RankAtFaultStandsBeforeThoseThatMetItsNan) {
    const Model model(context, darcy_model);
    DarcyCase points(own_rows("contiguous", 60, world));
    const Domain domain = points.domain(context);
    Plan plan(model, domain);
    points.bind(plan);
    if (is(last())) points.mobility.front() = NAN;
    const Answer own = answer(surrogate_plan_run(plan.get()));
    EXPECT_EQ(own.status, SURROGATE_NOT_FINITE);
    EXPECT_EQ(own.says("from another rank"), !is(last()));
    const Answer all = agree(own.status);
    EXPECT_EQ(all.status, SURROGATE_NOT_FINITE);
    EXPECT_TRUE(all.says("input 'mobility' is nan")) << all;
    EXPECT_EQ(answer_of_rank_0(all, world), all);
}

TEST_F(Agree, RankAtFaultIsFoundFromTextsHandedOverToo) {
    const Model model(context, darcy_model);
    DarcyCase points(own_rows("contiguous", 60, world));
    const Domain domain = points.domain(context);
    Plan plan(model, domain);
    points.bind(plan);
    if (is(last())) points.mobility.front() = NAN;
    const surrogate_status status = surrogate_plan_run(plan.get());
    const Answer all = agree(status, surrogate_error(context.get()));
    EXPECT_TRUE(all.says("input 'mobility' is nan")) << all;
}

// Each rank decides whether values are outside of a range; the agreement makes it one of all.
TEST_F(Agree, ValuesOutsideTheRangeOfOneRankAreHeardByAll) {
    const Model model(context, darcy_model);
    for (const char* agrees : {"false", "true"}) {
        DarcyCase points(own_rows("contiguous", 60, world));
        const Domain domain = points.domain(context);
        Plan plan(model, domain, {{"range", "error"}, {"agree", agrees}});
        points.bind(plan);
        plan.run();
        if (is(last())) points.mobility.front() = 1e6;
        const Answer found = answer(surrogate_plan_run(plan.get()));
        const bool is_told = is(last()) || agrees == std::string("true");
        EXPECT_EQ(found.status, is_told ? SURROGATE_OUT_OF_RANGE : SURROGATE_SUCCESS);
        EXPECT_EQ(found.says("'mobility'") && found.says("farthest 1e+06"), is_told) << found;
        EXPECT_EQ(plan.range(2).n_outside, is(last()) ? 1 : 0);
        for (const double p : points.pressure) EXPECT_TRUE(std::isfinite(p));
    }
}

TEST_F(Agree, CoordinatesAreDescribedOverAllRanks) {
    const Model model(context, darcy_model);
    DarcyCase points(own_rows("contiguous", 60, world));
    points.x[0] = 5.0 + context.rank();
    const Domain domain = points.domain(context);
    const Plan plan(model, domain);
    const std::string text = plan.describe(),
                      part = std::to_string(5 + last()) + ": " + std::to_string(context.size()) +
                             " of 60 points outside the card's range 0 .. 1";
    EXPECT_NE(text.find(part), std::string::npos) << part << "\nis not in\n" << text;
    EXPECT_EQ(plan.range(0).n_outside, 1);
    EXPECT_EQ(plan.range(0).n_points, points.n());
}

TEST_F(Agree, FailureOfAnAdapterIsThatOfTheContext) {
    EXPECT_EQ(
        surrogate_context_fail(context.get(), SURROGATE_IO, "no\x1b[31m such \x07mesh\nat all"),
        SURROGATE_IO);
    EXPECT_STREQ(surrogate_error(context.get()), "no?[31m such ?mesh\nat all");
    EXPECT_STREQ(surrogate_error(nullptr), surrogate_error(context.get()));
    EXPECT_EQ(surrogate_context_fail(nullptr, 77, "elsewhere"), 77);
    EXPECT_STREQ(surrogate_error(nullptr), "elsewhere");
    EXPECT_STREQ(surrogate_error(context.get()), "no?[31m such ?mesh\nat all");
    EXPECT_EQ(surrogate_context_fail(context.get(), SURROGATE_SUCCESS, "nothing"),
              SURROGATE_SUCCESS);
    EXPECT_STREQ(surrogate_error(nullptr), "elsewhere");
    // Its own text back, as a host might hand it over.
    EXPECT_EQ(surrogate_context_fail(context.get(), SURROGATE_IO, surrogate_error(nullptr)),
              SURROGATE_IO);
    EXPECT_STREQ(surrogate_error(context.get()), "elsewhere");
}

TEST_F(Agree, SkinThrowsOnAllRanks) {
    try {
        context.agree(is(last()) ? SURROGATE_IO : SURROGATE_SUCCESS, "gone");
        ADD_FAILURE() << "nothing was thrown";
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), SURROGATE_IO);
        EXPECT_EQ(error.what(), "IO: " + named(last(), "gone"));
    }
    EXPECT_NO_THROW(context.agree(SURROGATE_SUCCESS));
}

}  // namespace
}  // namespace surrogate::test
