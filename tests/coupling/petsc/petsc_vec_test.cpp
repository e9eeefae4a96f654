// SPDX-License-Identifier: Apache-2.0
// surrogate_plan_run_vec on ranks: vectors in every layout, and what is wrong with a vector.
#include <limits>

#include "tests/coupling/petsc/petsc_planned.hpp"

namespace {

using namespace surrogate::test;

// ---- vectors

TEST(PetscVec, InterlacedAndSeparateFieldsPredictTheSame) {
    Planned planned;
    const std::vector<PetscScalar> expected = planned.predict();
    DM wide = nullptr;
    Vec state = nullptr;  // (point, 3): something, mobility, pressure
    make_da(PETSC_COMM_WORLD, 3, &wide);
    PETSC_OK(DMCreateGlobalVector(wide, &state));
    PETSC_OK(VecSet(state, untouched));
    fill(wide, state, 1, 3);
    const surrogate_vec_field in = {"mobility", "m^2/(Pa s)", state, 1, 0};
    const surrogate_vec_field out = {"pressure", "Pa", state, 2, 0};
    PETSC_OK(planned.run(in, out));
    EXPECT_EQ(values_of(state, 2, 3), expected);
    EXPECT_EQ(values_of(state, 1, 3), values_of(planned.in)) << "the input has changed";
    for (const PetscScalar value : values_of(state, 0, 3)) EXPECT_EQ(value, untouched);

    // Mixed, and with the number of components given instead of a block size.
    PETSC_OK(VecSet(planned.out, untouched));
    PETSC_OK(planned.run(in, planned.output()));
    EXPECT_EQ(values_of(planned.out), expected);
    Vec plain = nullptr;  // block size 1
    PetscInt n = 0;
    PETSC_OK(VecGetLocalSize(planned.in, &n));
    PETSC_OK(VecCreateMPI(PETSC_COMM_WORLD, 2 * n, PETSC_DETERMINE, &plain));
    PETSC_OK(planned.run(planned.input(), {"pressure", nullptr, plain, 1, 2}));
    EXPECT_EQ(values_of(plain, 1, 2), expected);
    PETSC_OK(VecDestroy(&plain));
    PETSC_OK(VecDestroy(&state));
    PETSC_OK(DMDestroy(&wide));
}

TEST(PetscVec, PredictionMayReplaceItsInput) {
    Planned planned;
    const std::vector<PetscScalar> expected = planned.predict();
    PETSC_OK(planned.run(planned.input(), {"pressure", "Pa", planned.in, 0, 0}));
    EXPECT_EQ(values_of(planned.in), expected);
}

TEST(PetscVec, RunTellsPetscThatTheVectorHasChanged) {
    Planned planned;
    PetscReal before = 0, after = 0, largest = 0;
    PETSC_OK(VecSet(planned.out, 1000));
    PETSC_OK(
        VecNorm(planned.out, NORM_INFINITY, &before));  // PETSc keeps norms until a vector changes
    PETSC_OK(planned.run(planned.input(), planned.output()));
    PETSC_OK(VecNorm(planned.out, NORM_INFINITY, &after));
    EXPECT_EQ(before, 1000);
    EXPECT_LT(after, 1);
    PETSC_OK(VecMax(planned.out, nullptr, &largest));
    EXPECT_GT(largest, 0);
}

// ---- errors: every rank returns one, no rank waits, and the next run is exact

class PetscVecError : public testing::Test {
protected:
    PetscVecError() : expected_(planned_.predict()) {}

    /// Runs, expects `code` with `text` in its message, and that the plan still works.
    void expect(const surrogate_vec_field& in, const surrogate_vec_field& out, PetscErrorCode code,
                const std::string& text) {
        const PetscErrorCode error = planned_.run(in, out);
        EXPECT_EQ(error, code) << petsc_text(error);
        EXPECT_NE(petsc_text(error).find(text), std::string::npos) << petsc_text(error);
        EXPECT_EQ(planned_.predict(), expected_);
    }

    Planned planned_;
    std::vector<PetscScalar> expected_;
};

TEST_F(PetscVecError, WrongLength) {
    Vec longer = nullptr;
    PetscInt n = 0;
    PETSC_OK(VecGetLocalSize(planned_.in, &n));
    PETSC_OK(VecCreateMPI(PETSC_COMM_WORLD, n + 1, PETSC_DETERMINE, &longer));
    PETSC_OK(VecSet(longer, 5));
    expect({"mobility", nullptr, longer, 0, 0}, planned_.output(), PETSC_ERR_ARG_SIZ, "mobility");
    expect(planned_.input(), {"pressure", nullptr, longer, 0, 0}, PETSC_ERR_ARG_SIZ, "pressure");
    for (const PetscScalar value : values_of(longer)) EXPECT_EQ(value, 5);
    PETSC_OK(VecDestroy(&longer));
}

TEST_F(PetscVecError, WrongLengthOnOneRankIsAnErrorOnAll) {
    Vec uneven = nullptr;  // a point moved from the last rank to the first
    PetscInt n = 0;
    PETSC_OK(VecGetLocalSize(planned_.in, &n));
    if (world_size() == 1) GTEST_SKIP() << "needs 2 ranks";
    const PetscInt n_wrong = world_rank() == 0                  ? n + 1
                             : world_rank() == world_size() - 1 ? n - 1
                                                                : n;
    PETSC_OK(VecCreateMPI(PETSC_COMM_WORLD, n_wrong, PETSC_DETERMINE, &uneven));
    PETSC_OK(VecSet(uneven, 5));
    const bool is_wrong = n_wrong != n;
    expect({"mobility", nullptr, uneven, 0, 0}, planned_.output(),
           is_wrong ? PETSC_ERR_ARG_SIZ : PETSC_ERR_FP, is_wrong ? "mobility" : "rank");
    PETSC_OK(VecDestroy(&uneven));
}

TEST_F(PetscVecError, ComponentThatTheVecDoesNotHave) {
    expect({"mobility", nullptr, planned_.in, 1, 0}, planned_.output(), PETSC_ERR_ARG_OUTOFRANGE,
           "component 1");
    expect({"mobility", nullptr, planned_.in, -2, 0}, planned_.output(), PETSC_ERR_ARG_OUTOFRANGE,
           "component -2");
}

TEST_F(PetscVecError, WrongCommunicator) {
    if (world_size() == 1) GTEST_SKIP() << "all communicators of one rank are alike";
    Vec lonely = nullptr;
    PetscInt n = 0;
    PETSC_OK(VecGetLocalSize(planned_.in, &n));
    PETSC_OK(VecCreateSeq(PETSC_COMM_SELF, n, &lonely));
    PETSC_OK(VecSet(lonely, 5));
    expect({"mobility", nullptr, lonely, 0, 0}, planned_.output(), PETSC_ERR_ARG_NOTSAMECOMM,
           "communicator");
    PETSC_OK(VecDestroy(&lonely));
}

TEST_F(PetscVecError, MissingField) {
    const surrogate_vec_field in = planned_.input(), out = planned_.output();
    PetscErrorCode error = surrogate_plan_run_vec(planned_.plan, 0, nullptr, 1, &out);
    EXPECT_EQ(error, PETSC_ERR_ARG_WRONG);
    EXPECT_NE(petsc_text(error).find("mobility"), std::string::npos) << petsc_text(error);
    error = surrogate_plan_run_vec(planned_.plan, 1, &in, 0, nullptr);
    EXPECT_EQ(error, PETSC_ERR_ARG_WRONG);
    EXPECT_NE(petsc_text(error).find("pressure"), std::string::npos) << petsc_text(error);
    EXPECT_EQ(planned_.predict(), expected_);
}

TEST_F(PetscVecError, MisspeltFieldAndForeignUnit) {
    expect({"mobilty", nullptr, planned_.in, 0, 0}, planned_.output(), PETSC_ERR_ARG_WRONG,
           "mobility");
    expect(planned_.input(), {"pressure", "bar", planned_.out, 0, 0}, PETSC_ERR_ARG_WRONG, "bar");
}

TEST_F(PetscVecError, NameGivenTwice) {
    // The second Vec would be written, and the first keep its old numbers with a good status.
    Vec other = nullptr;
    PETSC_OK(VecDuplicate(planned_.out, &other));
    const surrogate_vec_field in[] = {planned_.input(), planned_.input()};
    const surrogate_vec_field out[] = {planned_.output(), {"pressure", "Pa", other, 0, 0}};
    const auto refused = [&](PetscInt n_in, PetscInt n_out, const std::string& text) {
        const PetscErrorCode error = surrogate_plan_run_vec(planned_.plan, n_in, in, n_out, out);
        EXPECT_EQ(error, PETSC_ERR_ARG_WRONG) << text;
        EXPECT_NE(petsc_text(error).find(text), std::string::npos) << petsc_text(error);
        EXPECT_EQ(planned_.predict(), expected_);
    };
    refused(1, 2, "field pressure is given twice, as outputs 0 and 1");
    refused(2, 1, "field mobility is given twice, as inputs 0 and 1");
    PETSC_OK(VecDestroy(&other));
}

TEST_F(PetscVecError, NameWrongOnOneRankOnly) {
    const bool is_wrong = world_rank() == world_size() - 1;
    surrogate_vec_field in = planned_.input();
    if (is_wrong) in.name = "temperature";
    expect(in, planned_.output(), is_wrong ? PETSC_ERR_ARG_WRONG : PETSC_ERR_FP,
           is_wrong ? "temperature" : "rank");
}

TEST(PetscVecAgreed, AllRanksHearWhatIsWrongOnOne) {
    PETSC_OK(PetscOptionsSetValue(nullptr, "-surrogate_agree", nullptr));
    Planned planned;
    PETSC_OK(PetscOptionsClearValue(nullptr, "-surrogate_agree"));
    const std::vector<PetscScalar> expected = planned.predict();
    const int culprit = world_size() - 1;
    surrogate_vec_field in = planned.input();
    // An error of the library, and one of this adapter.
    if (world_rank() == culprit) in.name = "temperature";
    PetscErrorCode error = planned.run(in, planned.output());
    EXPECT_EQ(error, PETSC_ERR_ARG_WRONG) << petsc_text(error);
    EXPECT_NE(petsc_text(error).find("temperature"), std::string::npos) << petsc_text(error);
    in = planned.input();
    if (world_rank() == culprit) in.component = 5;
    error = planned.run(in, planned.output());
    EXPECT_NE(error, PETSC_ERR_FP) << petsc_text(error);
    EXPECT_NE(petsc_text(error).find("component 5"), std::string::npos) << petsc_text(error);
    EXPECT_EQ(planned.predict(), expected);
}

TEST_F(PetscVecError, NullVec) {
    expect({"mobility", nullptr, nullptr, 0, 0}, planned_.output(), PETSC_ERR_ARG_NULL, "mobility");
}

TEST_F(PetscVecError, NanOfOneRankIsReportedByAll) {
    Vec bad = nullptr;
    PETSC_OK(VecDuplicate(planned_.in, &bad));
    PETSC_OK(VecCopy(planned_.in, bad));
    if (world_rank() == 0) {
        PetscScalar* data = nullptr;
        PETSC_OK(VecGetArray(bad, &data));
        data[2] = std::numeric_limits<PetscScalar>::quiet_NaN();
        PETSC_OK(VecRestoreArray(bad, &data));
    }
    expect({"mobility", nullptr, bad, 0, 0}, planned_.output(), PETSC_ERR_FP,
           world_rank() == 0 ? "mobility" : "rank");
    PETSC_OK(VecDestroy(&bad));
}

TEST(PetscVecLent, PlanKeepsNoArrayAfterARun) {
    Planned planned;
    planned.predict();
    EXPECT_EQ(surrogate_plan_run(planned.plan), SURROGATE_INVALID_ARGUMENT);
}

}  // namespace
