// SPDX-License-Identifier: Apache-2.0
// KSPGuess type `surrogate`: when a prediction is used, and the state after it was rejected.
#include <limits>

#include "tests/coupling/petsc_plugin/guess_case.hpp"

namespace {

using namespace surrogate::test;

class JudgedGuess : public GuessCase {};

TEST_F(JudgedGuess, BadPredictionIsRefusedAndTheHistoryIsThatOfZero) {
    const std::vector<PetscReal> expected = reference();
    const std::string model = bad_model();
    const OptionScope options(with(model));
    DarcyKsp darcy;
    darcy.compose(PetscObject(darcy.ksp), "mobility");
    EXPECT_EQ(darcy.solve(), expected);
    EXPECT_HAS(darcy.view(), "used 0, rejected 1 (not better 1, failed 0");
}

TEST_F(JudgedGuess, FactorAsksForMoreThanALittleLess) {
    const std::vector<PetscReal> expected = reference();
    const OptionScope options(with(darcy_model, {{"-surrogate_factor", "0.1"}}));
    DarcyKsp darcy;  // the prediction lowers |b - A x| by less than half
    darcy.compose(PetscObject(darcy.ksp), "mobility");
    EXPECT_EQ(darcy.solve(), expected);
    EXPECT_HAS(darcy.view(), "used 0, rejected 1 (not better 1");
}

TEST_F(JudgedGuess, RefusalLeavesTheProgramsOwnStart) {
    const std::string model = bad_model();
    const std::vector<PetscReal> from_zero = reference();
    const auto solve_from_half = [](DarcyKsp& darcy) {
        EXPECT_EQ(KSPSetInitialGuessNonzero(darcy.ksp, PETSC_TRUE), 0);
        EXPECT_EQ(VecSet(darcy.x, 0.004), 0);
        return darcy.solve();
    };
    DarcyKsp plain;
    const std::vector<PetscReal> expected = solve_from_half(plain);
    const OptionScope options(with(model));
    DarcyKsp darcy;
    darcy.compose(PetscObject(darcy.ksp), "mobility");
    EXPECT_EQ(solve_from_half(darcy), expected);
    EXPECT_NE(expected, from_zero) << "the start makes no difference, so this test shows nothing";
    EXPECT_HAS(darcy.view(), "used 0, rejected 1");
}

TEST_F(JudgedGuess, PredictionMustBeatTheProgramsOwnStart) {
    const OptionScope options(with(darcy_model));
    DarcyKsp darcy;
    darcy.compose(PetscObject(darcy.ksp), "mobility");
    darcy.solve();
    PETSC_OK(KSPSetInitialGuessNonzero(darcy.ksp, PETSC_TRUE));
    EXPECT_LE(n_iteration(darcy.solve()), 1u);  // from the solution itself
    EXPECT_HAS(darcy.view(), "asked 2, used 1, rejected 1 (not better 1");
}

TEST_F(JudgedGuess, EverySolveStartsAsTheProgramSays) {
    const OptionScope options(with(darcy_model));
    DarcyKsp darcy;
    PetscBool is_nonzero = PETSC_TRUE;
    darcy.compose(PetscObject(darcy.ksp), "mobility");
    const std::vector<PetscReal> first = darcy.solve();
    PETSC_OK(KSPGetInitialGuessNonzero(darcy.ksp, &is_nonzero));
    EXPECT_FALSE(is_nonzero);
    EXPECT_EQ(darcy.solve(), first) << "the second solve has not started at zero";
    // Another operator, with the coefficient in the same Vec.
    darcy.set_blob(0.65);
    EXPECT_NE(darcy.solve(), first);
    EXPECT_HAS(darcy.view(), "asked 3, used 3");
}

/// Solves with closed edges from a constant. The right-hand side belongs to the model's prediction
/// without its mean, which no residual shows.
void solve_closed(DarcyKsp& darcy, const std::string& model, PetscScalar start) {
    Vec prediction = nullptr;
    darcy.close_edges();
    PETSC_OK(VecDuplicate(darcy.x, &prediction));
    predict(model, "p", darcy.da, prediction);
    ASSERT_GT(std::abs(mean_of(prediction)), 1) << "the prediction has no part in the null space";
    PETSC_OK(MatMult(darcy.matrix, prediction, darcy.rhs));
    PETSC_OK(VecDestroy(&prediction));
    PETSC_OK(KSPSetTolerances(darcy.ksp, 1e-10, 0, PETSC_DEFAULT, PETSC_DEFAULT));
    if (start != 0) PETSC_OK(KSPSetInitialGuessNonzero(darcy.ksp, PETSC_TRUE));
    PETSC_OK(VecSet(darcy.x, start));
    darcy.solve();
}

TEST_F(JudgedGuess, PartInTheNullSpaceIsThatOfTheStart) {
    const std::string model =
        model_file("mean", small_flare({{"x", 0}, {"y", 1}}, {{"p", 50}}, false));
    for (const PetscScalar start : {0, 5}) {
        DarcyKsp plain;
        solve_closed(plain, model, start);
        const OptionScope options(with(model));
        DarcyKsp helped;
        solve_closed(helped, model, start);
        EXPECT_HAS(helped.view(), "asked 1, used 1");
        EXPECT_NEAR(mean_of(helped.x), start, 1e-6);
        EXPECT_LT(distance(helped.x, plain.x), 1e-6);
    }
}

TEST_F(JudgedGuess, NanOfOneRankIsRefusedOnAll) {
    const std::vector<PetscReal> expected = reference();
    const OptionScope options(with(darcy_model));
    DarcyKsp darcy;
    darcy.compose(PetscObject(darcy.ksp), "mobility");
    if (world_rank() == 0) {
        PetscScalar* values = nullptr;
        PETSC_OK(VecGetArray(darcy.mobility, &values));
        values[0] = std::numeric_limits<PetscScalar>::quiet_NaN();
        PETSC_OK(VecRestoreArray(darcy.mobility, &values));
    }
    EXPECT_EQ(darcy.solve(), expected);
    EXPECT_HAS(darcy.view(), "used 0, rejected 1 (not better 0, failed 0, not finite 1");
    EXPECT_HAS(darcy.view(), "input 'mobility' is nan at point with id 0");
    // The next good one is used again.
    darcy.set_blob(0.4);
    darcy.solve();
    EXPECT_HAS(darcy.view(), "asked 2, used 1");
}

TEST_F(JudgedGuess, ValuesOutsideTheCardsRangeAreRefusedWithRangeError) {
    const std::vector<PetscReal> expected = reference();
    const OptionScope options(with(darcy_model, {{"-surrogate_range", "error"}}));
    DarcyKsp darcy;
    darcy.compose(PetscObject(darcy.ksp), "mobility");
    PETSC_OK(VecSet(darcy.mobility, 1e6));
    EXPECT_EQ(darcy.solve(), expected);
    EXPECT_HAS(darcy.view(), "not finite 0, out of range 1)");
}

TEST_F(JudgedGuess, ViewAtTheEndAndEventsOfTheLog) {
    const OptionScope options(with(darcy_model));
    PetscLogEvent event = -1;
    DarcyKsp darcy;
    darcy.compose(PetscObject(darcy.ksp), "mobility");
    darcy.solve();
    for (const char* name : {"SurrPlan", "SurrRun", "SurrGuess"}) {
        PETSC_OK(PetscLogEventGetId(name, &event));
        EXPECT_GE(event, 0) << name;
    }
    EXPECT_HAS(darcy.view(), "darcy_flow.safetensors, family flare");
}

}  // namespace
