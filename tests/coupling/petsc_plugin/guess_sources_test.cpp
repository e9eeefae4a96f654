// SPDX-License-Identifier: Apache-2.0
// KSPGuess type `surrogate`: where it finds fields and places.
#include "tests/coupling/petsc_plugin/guess_case.hpp"

namespace {

using namespace surrogate::test;

const testing::Environment* const environment =
    testing::AddGlobalTestEnvironment(new PetscEnvironment);

class KspGuess : public GuessCase {};

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

}  // namespace
