// SPDX-License-Identifier: Apache-2.0
// KSPGuess type `surrogate`: where it finds fields and places.
#include <filesystem>

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
    EXPECT_HAS(helped.view(), "asked 1, used 1, rejected 0");
}

TEST_F(KspGuess, CoefficientMayBeComposedWithKspMatrixOrDmOrBeANamedVector) {
    const OptionScope options(with(darcy_model));
    DarcyKsp at_ksp, at_matrix, at_dm, named;
    at_ksp.compose(PetscObject(at_ksp.ksp), "mobility");
    const std::vector<PetscReal> expected = at_ksp.solve();
    at_matrix.compose(PetscObject(at_matrix.matrix), "mobility");
    EXPECT_EQ(at_matrix.solve(), expected);
    // PETSc does not allow composing a DM with a Vec that was made from it.
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
    const std::vector<PetscReal> expected = predicted();
    const OptionScope options(
        with(darcy_model, {{"-surrogate_fields", "mobility=coefficient:0,pressure=solution:0"}}));
    DarcyKsp other_name;
    other_name.compose(PetscObject(other_name.ksp), "coefficient");
    EXPECT_EQ(other_name.solve(), expected);
}

TEST_F(KspGuess, NumbersPerCloudAreOptions) {
    ModelWriter model = small_flare({{"x", 0}, {"y", 1}, {"mobility"}, {"load"}}, {{"p"}}, false);
    const std::string by_point = model_file("load_at_points", model);
    model.card["inputs"][3]["role"] = "cloud";
    const std::string by_cloud = model_file("load_of_cloud", model);
    const auto solve = [](const OptionMap& all, std::vector<PetscReal>* history) {
        const OptionScope options(all);
        DarcyKsp darcy;
        darcy.compose(PetscObject(darcy.ksp), "mobility");
        Vec load = nullptr;
        PETSC_OK(VecDuplicate(darcy.mobility, &load));
        PETSC_OK(VecSet(load, 0.25));
        PETSC_OK(PetscObjectCompose(PetscObject(darcy.ksp), "load", PetscObject(load)));
        PETSC_OK(VecDestroy(&load));
        *history = darcy.solve();
    };
    std::vector<PetscReal> of_cloud, at_points;
    solve(with(by_cloud, {{"-surrogate_set", "load=0.25"}}), &of_cloud);
    solve(with(by_point), &at_points);
    EXPECT_EQ(of_cloud, at_points);
    const OptionScope options(with(by_cloud));
    DarcyKsp darcy;
    darcy.compose(PetscObject(darcy.ksp), "mobility");
    const PetscErrorCode error = KSPSolve(darcy.ksp, darcy.rhs, darcy.x);
    EXPECT_EQ(error, PETSC_ERR_ARG_WRONG);
    EXPECT_HAS(petsc_text(error), "needs the number 'load': -surrogate_set load=VALUE");
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
    const std::vector<PetscReal> expected = predicted();
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
    const std::vector<PetscReal> expected = predicted();
    const OptionScope options(with(darcy_model));
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

TEST_F(KspGuess, BoxReplacesTheCoordinatesOfADmda) {
    const std::vector<PetscReal> expected = predicted();
    const OptionScope options(
        with(darcy_model, {{"-surrogate_box", "0,1,0,1"}, {"-surrogate_cell_centers", "true"}}));
    DarcyKsp elsewhere;
    Vec before = nullptr, after = nullptr;
    PetscReal largest = 0;
    PETSC_OK(DMGetCoordinates(elsewhere.da, &before));
    PETSC_OK(VecSet(before, 0.25));
    elsewhere.compose(PetscObject(elsewhere.ksp), "mobility");
    const std::vector<PetscReal> history = elsewhere.solve();
    ASSERT_EQ(history.size(), expected.size());
    EXPECT_NEAR(history.front(), expected.front(), 1e-4 * expected.front());
    PETSC_OK(DMGetCoordinates(elsewhere.da, &after));
    PETSC_OK(VecMax(after, nullptr, &largest));
    EXPECT_EQ(after, before);
    EXPECT_EQ(largest, 0.25) << "the program's DM has got other coordinates";
}

TEST_F(KspGuess, DmIsTakenFromTheMatrixOrTheVecs) {
    const std::vector<PetscReal> expected = predicted();
    const OptionScope options(with(darcy_model));
    DarcyKsp of_matrix(true, false), of_rhs(true, false), of_solution(true, false);
    PETSC_OK(MatSetDM(of_matrix.matrix, of_matrix.da));
    PETSC_OK(VecSetDM(of_rhs.rhs, of_rhs.da));
    PETSC_OK(VecSetDM(of_solution.x, of_solution.da));
    for (DarcyKsp* darcy : {&of_matrix, &of_rhs, &of_solution}) {
        darcy->compose(PetscObject(darcy->ksp), "mobility");
        EXPECT_EQ(darcy->solve(), expected);
    }
}

/// A binary file of the coordinates of a DMDA in the order of its global vectors.
std::string coordinates_file(DM da) {
    const std::string path =
        shared_text(testing::TempDir() + "/petsc_plugin_xy_" + std::to_string(getpid()));
    Vec from = nullptr, plain = nullptr;  // one without a DM, whose VecView keeps the order
    PetscInt n = 0;
    PetscViewer viewer = nullptr;
    EXPECT_EQ(DMGetCoordinates(da, &from), 0);
    EXPECT_EQ(VecGetLocalSize(from, &n), 0);
    EXPECT_EQ(VecCreateMPI(PETSC_COMM_WORLD, n, PETSC_DETERMINE, &plain), 0);
    EXPECT_EQ(VecCopy(from, plain), 0);
    EXPECT_EQ(PetscViewerBinaryOpen(PETSC_COMM_WORLD, path.c_str(), FILE_MODE_WRITE, &viewer), 0);
    EXPECT_EQ(VecView(plain, viewer), 0);
    EXPECT_EQ(PetscViewerDestroy(&viewer), 0);
    EXPECT_EQ(VecDestroy(&plain), 0);
    return path;
}

TEST_F(KspGuess, FileOfCoordinatesServesAProgramWithoutDm) {
    DarcyKsp has_dm;
    const std::string path = coordinates_file(has_dm.da);
    const std::vector<PetscReal> expected = predicted();
    const OptionScope options(with(darcy_model, {{"-surrogate_coordinates_file", path}}));
    DarcyKsp has_none(true, false);
    has_none.compose(PetscObject(has_none.matrix), "mobility");
    const std::vector<PetscReal> history = has_none.solve();
    ASSERT_EQ(history.size(), expected.size());
    EXPECT_NEAR(history.front(), expected.front(), 1e-4 * expected.front());
    EXPECT_HAS(has_none.view(), "asked 1, used 1");
}

TEST_F(KspGuess, FileOfCoordinatesThatDoesNotFit) {
    const auto text_of = [](const std::string& path, PetscErrorCode expected) {
        const OptionScope options(with(darcy_model, {{"-surrogate_coordinates_file", path}}));
        DarcyKsp darcy(true, false);
        darcy.compose(PetscObject(darcy.matrix), "mobility");
        const PetscErrorCode error = KSPSolve(darcy.ksp, darcy.rhs, darcy.x);
        EXPECT_EQ(error, expected);
        return petsc_text(error);
    };
    DM small = nullptr;
    PETSC_OK(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR,
                          5, 3, PETSC_DECIDE, PETSC_DECIDE, 1, 1, nullptr, nullptr, &small));
    PETSC_OK(DMSetUp(small));
    PETSC_OK(DMDASetUniformCoordinates(small, 0, 1, 0, 1, 0, 0));
    const std::string path = coordinates_file(small);
    EXPECT_HAS(text_of(path, PETSC_ERR_FILE_UNEXPECTED),
               "has 30 values, expected 576 points times 1 to 8 axes");
    if (world_rank() == 0) std::filesystem::resize_file(path, 100);
    MPI_Barrier(PETSC_COMM_WORLD);
    EXPECT_HAS(text_of(path, PETSC_ERR_FILE_UNEXPECTED),
               "has 100 bytes, expected 248 for a Vec of 30 values; is it truncated?");
    EXPECT_HAS(text_of("/no/such/file", PETSC_ERR_FILE_OPEN), "cannot read the file");
    EXPECT_HAS(text_of(darcy_model, PETSC_ERR_FILE_UNEXPECTED), "does not begin with a Vec");
    PETSC_OK(DMDestroy(&small));
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
    EXPECT_HAS(petsc_text(error), "rank 1: the model needs the field 'mobility'");
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
