// SPDX-License-Identifier: Apache-2.0
// KSPGuess type `surrogate`: what it finds, when it is used, and what it leaves as it was.
#include <surrogate/surrogate_petsc.h>

#include <limits>

#include "tests/coupling/petsc_plugin/darcy_ksp.hpp"

namespace {

using namespace surrogate::test;

const testing::Environment* const environment =
    testing::AddGlobalTestEnvironment(new PetscEnvironment);

class KspGuess : public testing::Test {
protected:
    void SetUp() override { PETSC_OK(surrogate_petsc_register()); }

    /// The options of a surrogate, for KSPs made while they live.
    static OptionMap with(const std::string& model, OptionMap more = {}) {
        more.insert({{"-ksp_guess_type", "surrogate"}, {"-surrogate_model", model}});
        return more;
    }
    static std::string bad_model() {
        return model_file("bad", small_flare({{"x", 0}, {"y", 1}, {"mobility"}}, {{"p"}}, false));
    }
    static std::vector<PetscReal> reference() { return DarcyKsp().solve(); }
};

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

// ---- where a coefficient is found

TEST_F(KspGuess, GoodPredictionLowersIterationsAndKeepsTheSolution) {
    // Multigrid, which takes the rough part of a network's error away at once.
    const OptionScope multigrid(OptionMap{{"-pc_type", "gamg"}});
    DarcyKsp plain;
    const std::vector<PetscReal> from_zero = plain.solve();
    const OptionScope options(with(darcy_model));
    DarcyKsp helped;
    helped.compose(PetscObject(helped.ksp), "mobility");
    const std::vector<PetscReal> history = helped.solve();
    EXPECT_LT(history.front(), from_zero.front());
    EXPECT_LT(n_iteration(history), n_iteration(from_zero));
    EXPECT_LT(distance(helped.x, plain.x), 1e-5);
    EXPECT_HAS(helped.view(), "asked 1, used 1, refused 0");
}

TEST_F(KspGuess, CoefficientMayBeComposedWithKspMatrixOrDmOrBeANamedVector) {
    const OptionScope options(with(darcy_model));
    DarcyKsp at_ksp, at_matrix, at_dm, named;
    at_ksp.compose(PetscObject(at_ksp.ksp), "mobility");
    const std::vector<PetscReal> expected = at_ksp.solve();
    at_matrix.compose(PetscObject(at_matrix.matrix), "mobility");
    EXPECT_EQ(at_matrix.solve(), expected);
    // PETSc refuses to compose a DM with a Vec that was made from it.
    Vec own = nullptr, lent = nullptr;
    PetscInt n = 0;
    PETSC_OK(VecGetLocalSize(at_dm.mobility, &n));
    PETSC_OK(VecCreateMPI(PETSC_COMM_WORLD, n, PETSC_DETERMINE, &own));
    PETSC_OK(VecCopy(at_dm.mobility, own));
    PETSC_OK(PetscObjectCompose(PetscObject(at_dm.da), "mobility", PetscObject(own)));
    PETSC_OK(VecDestroy(&own));
    EXPECT_EQ(at_dm.solve(), expected);
    PETSC_OK(DMGetNamedGlobalVector(named.da, "mobility", &lent));
    PETSC_OK(VecCopy(named.mobility, lent));
    PETSC_OK(DMRestoreNamedGlobalVector(named.da, "mobility", &lent));
    EXPECT_EQ(named.solve(), expected);
    // It was given back, and may be changed.
    PETSC_OK(DMGetNamedGlobalVector(named.da, "mobility", &lent));
    PETSC_OK(DMRestoreNamedGlobalVector(named.da, "mobility", &lent));
}

TEST_F(KspGuess, FieldsOfTheCardAreMapped) {
    std::vector<PetscReal> expected;
    {
        const OptionScope options(with(darcy_model));
        DarcyKsp same_name;
        same_name.compose(PetscObject(same_name.ksp), "mobility");
        expected = same_name.solve();
    }
    const OptionScope options(
        with(darcy_model, {{"-surrogate_fields", "mobility=coefficient:0,pressure=solution:0"}}));
    DarcyKsp other_name;
    other_name.compose(PetscObject(other_name.ksp), "coefficient");
    EXPECT_EQ(other_name.solve(), expected);
}

TEST_F(KspGuess, PrefixOfTheKspIsThatOfTheOptions) {
    const OptionScope options(OptionMap{{"-flow_ksp_guess_type", "surrogate"},
                                        {"-flow_surrogate_model", darcy_model},
                                        {"-surrogate_model", "/no/such/file"}});
    DarcyKsp darcy;
    darcy.compose(PetscObject(darcy.ksp), "mobility");
    PETSC_OK(KSPSetOptionsPrefix(darcy.ksp, "flow_"));
    PETSC_OK(KSPSetFromOptions(darcy.ksp));
    darcy.solve();
    EXPECT_HAS(darcy.view(), "asked 1, used 1");
}

TEST_F(KspGuess, TypeMayBeSetInCode) {
    const OptionScope options(OptionMap{{"-surrogate_model", darcy_model}});
    DarcyKsp darcy;
    KSPGuess guess = nullptr;
    darcy.compose(PetscObject(darcy.ksp), "mobility");
    PETSC_OK(KSPGetGuess(darcy.ksp, &guess));
    PETSC_OK(KSPGuessSetType(guess, "surrogate"));
    darcy.solve();
    EXPECT_HAS(darcy.view(), "asked 1, used 1");
}

// ---- where the unknowns are

TEST_F(KspGuess, BoxGivesTheCoordinatesThatADmdaLacks) {
    std::vector<PetscReal> expected;
    {
        const OptionScope options(with(darcy_model));
        DarcyKsp has_coordinates;
        has_coordinates.compose(PetscObject(has_coordinates.ksp), "mobility");
        expected = has_coordinates.solve();
    }
    const OptionScope options(
        with(darcy_model, {{"-surrogate_box", "0,1,0,1"}, {"-surrogate_cell_centers", "true"}}));
    DarcyKsp has_none(false);
    has_none.compose(PetscObject(has_none.ksp), "mobility");
    const std::vector<PetscReal> history = has_none.solve();
    ASSERT_EQ(history.size(), expected.size());
    EXPECT_NEAR(history.front(), expected.front(), 1e-4 * expected.front());
    Vec coordinates = nullptr;
    PETSC_OK(DMGetCoordinates(has_none.da, &coordinates));
    EXPECT_EQ(coordinates, nullptr) << "the program's DM has got coordinates";
}

TEST_F(KspGuess, MatrixWithoutDmTakesComposedCoordinates) {
    const OptionScope options(with(darcy_model));
    DarcyKsp has_dm;
    has_dm.compose(PetscObject(has_dm.ksp), "mobility");
    const std::vector<PetscReal> expected = has_dm.solve();
    DarcyKsp has_none(true, false);
    Vec coordinates = nullptr;
    PETSC_OK(DMGetCoordinates(has_none.da, &coordinates));
    PETSC_OK(
        PetscObjectCompose(PetscObject(has_none.matrix), "coordinates", PetscObject(coordinates)));
    has_none.compose(PetscObject(has_none.matrix), "mobility");
    const std::vector<PetscReal> history = has_none.solve();
    ASSERT_EQ(history.size(), expected.size());
    EXPECT_NEAR(history.front(), expected.front(), 1e-4 * expected.front());
}

TEST_F(KspGuess, UnknownsThatHaveMovedAreFollowed) {
    const std::string model = bad_model();
    const OptionScope options(with(model));
    DarcyKsp moves, is_there;
    Vec coordinates = nullptr;
    moves.compose(PetscObject(moves.ksp), "mobility");
    is_there.compose(PetscObject(is_there.ksp), "mobility");
    moves.solve();
    const std::string before = moves.view();
    for (DarcyKsp* darcy : {&moves, &is_there}) {
        PETSC_OK(DMGetCoordinates(darcy->da, &coordinates));
        PETSC_OK(VecScale(coordinates, 2));
        darcy->solve();
    }
    const auto norms = [](const std::string& text) {
        const size_t at = text.find("last:");
        return text.substr(at, text.find('\n', at) - at);
    };
    EXPECT_NE(norms(moves.view()), norms(before));
    EXPECT_EQ(norms(moves.view()), norms(is_there.view()));
}

// ---- never worse

TEST_F(KspGuess, BadPredictionIsRefusedAndTheHistoryIsThatOfZero) {
    const std::vector<PetscReal> expected = reference();
    const std::string model = bad_model();
    const OptionScope options(with(model));
    DarcyKsp darcy;
    darcy.compose(PetscObject(darcy.ksp), "mobility");
    EXPECT_EQ(darcy.solve(), expected);
    EXPECT_HAS(darcy.view(), "used 0, refused 1 (not better 1, failed 0");
}

TEST_F(KspGuess, RefusalLeavesTheProgramsOwnStart) {
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
    EXPECT_HAS(darcy.view(), "used 0, refused 1");
}

TEST_F(KspGuess, PredictionMustBeatTheProgramsOwnStart) {
    const OptionScope options(with(darcy_model));
    DarcyKsp darcy;
    darcy.compose(PetscObject(darcy.ksp), "mobility");
    darcy.solve();
    PETSC_OK(KSPSetInitialGuessNonzero(darcy.ksp, PETSC_TRUE));
    EXPECT_LE(n_iteration(darcy.solve()), 1u);  // from the solution itself
    EXPECT_HAS(darcy.view(), "asked 2, used 1, refused 1 (not better 1");
}

TEST_F(KspGuess, EverySolveStartsAsTheProgramSays) {
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

TEST_F(KspGuess, NanOfOneRankIsRefusedOnAll) {
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
    EXPECT_HAS(darcy.view(), "used 0, refused 1 (not better 0, failed 0, not finite 1");
    EXPECT_HAS(darcy.view(), "input 'mobility' is nan at point with id 0");
    // The next good one is used again.
    darcy.set_blob(0.4);
    darcy.solve();
    EXPECT_HAS(darcy.view(), "asked 2, used 1");
}

TEST_F(KspGuess, VecThatOneRankLacksIsAnErrorOnAll) {
    const OptionScope options(with(darcy_model));
    DarcyKsp darcy;
    int size = 1;
    MPI_Comm_size(PETSC_COMM_WORLD, &size);
    if (size == 1) GTEST_SKIP() << "needs 2 ranks";
    if (world_rank() != 1) darcy.compose(PetscObject(darcy.ksp), "mobility");
    const PetscErrorCode error = KSPSolve(darcy.ksp, darcy.rhs, darcy.x);
    EXPECT_EQ(error, PETSC_ERR_ARG_WRONG);
    EXPECT_HAS(petsc_text(error), "rank 1: the model wants the field 'mobility'");
    darcy.compose(PetscObject(darcy.ksp), "mobility");
    darcy.solve();
    EXPECT_HAS(darcy.view(), "asked 2, used 1");
}

TEST_F(KspGuess, VecOfAnotherLengthIsAnErrorOnAll) {
    const OptionScope options(with(darcy_model));
    DarcyKsp darcy;
    Vec longer = nullptr;
    PetscInt n = 0;
    PETSC_OK(VecGetLocalSize(darcy.x, &n));
    PETSC_OK(VecCreateMPI(PETSC_COMM_WORLD, n + (world_rank() == 0), PETSC_DETERMINE, &longer));
    PETSC_OK(PetscObjectCompose(PetscObject(darcy.ksp), "mobility", PetscObject(longer)));
    PETSC_OK(VecDestroy(&longer));
    const PetscErrorCode error = KSPSolve(darcy.ksp, darcy.rhs, darcy.x);
    EXPECT_EQ(error, PETSC_ERR_ARG_SIZ);
    EXPECT_HAS(petsc_text(error), "the Vec for the field 'mobility' has");
}

TEST_F(KspGuess, ValuesOutsideTheCardsRangeAreRefusedWithRangeError) {
    const std::vector<PetscReal> expected = reference();
    const OptionScope options(with(darcy_model, {{"-surrogate_range", "error"}}));
    DarcyKsp darcy;
    darcy.compose(PetscObject(darcy.ksp), "mobility");
    PETSC_OK(VecSet(darcy.mobility, 1e6));
    EXPECT_EQ(darcy.solve(), expected);
    EXPECT_HAS(darcy.view(), "not finite 0, out of range 1)");
}

TEST_F(KspGuess, ViewAtTheEndAndEventsOfTheLog) {
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
