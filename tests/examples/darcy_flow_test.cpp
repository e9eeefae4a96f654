// SPDX-License-Identifier: Apache-2.0
// The example's flow solver against stored runs, with and without the surrogate, on any number of
// ranks.
#include <gtest/gtest.h>
#include <vtkCellData.h>
#include <vtkXMLImageDataReader.h>
#include <vtkXMLPImageDataReader.h>

#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fluid/initial.hpp"
#include "output.hpp"
#include "run.hpp"
#include "tests/coupling/petsc/petsc_environment.hpp"
#include "tests/coupling/vtk/read.hpp"
#include "tests/support/golden_file.hpp"

namespace {

using darcy::FlowSolver;
using darcy::Grid;
using darcy::OwnedVec;
using darcy::Result;
using surrogate::test::GoldenTensor;
using surrogate::test::read_golden;

[[maybe_unused]] const auto* const environment =
    testing::AddGlobalTestEnvironment(new surrogate::test::PetscEnvironment);

const std::string data = SURROGATE_TEST_DATA "/darcy_flow/";
const std::string model = SURROGATE_SHARE "/models/darcy_flow.safetensors";
/// Whose predictions the stored states have.
const std::string official_model = data + "model.safetensors";
constexpr PetscReal dt_s = 0.02;

GoldenTensor golden(const char* name) {
    return read_golden(data + "states.safetensors", name);
}

/// values [i][j] into a vector of the grid.
void set_cells(const Grid& grid, const std::vector<double>& values, Vec vec) {
    darcy::Box box;
    PETSC_OK(box.of(grid));
    const darcy::Cells cell(grid, vec);
    for (PetscInt j = box.j0; j < box.j1; ++j)
        for (PetscInt i = box.i0; i < box.i1; ++i)
            cell(i, j) = values[static_cast<size_t>(i * grid.n + j)];
}

/// Difference of a vector to values [i][j].
struct Distance {
    PetscReal relative_l2 = std::numeric_limits<PetscReal>::quiet_NaN();
    PetscReal largest = std::numeric_limits<PetscReal>::quiet_NaN();
    PetscReal mean = std::numeric_limits<PetscReal>::quiet_NaN();
};

void measure(const Grid& grid, Vec vec, const std::vector<double>& values, Distance* distance) {
    OwnedVec expected;
    PetscReal norm = 0, error = 0, sum = 0;
    PETSC_OK(grid.new_vec(&expected));
    set_cells(grid, values, expected);
    PETSC_OK(VecNorm(expected, NORM_2, &norm));
    PETSC_OK(VecAXPY(expected, -1, vec));
    PETSC_OK(VecNorm(expected, NORM_2, &error));
    PETSC_OK(VecNorm(expected, NORM_1, &sum));
    PETSC_OK(VecNorm(expected, NORM_INFINITY, &distance->largest));
    distance->relative_l2 = error / norm;
    distance->mean = sum / PetscReal(grid.n * grid.n);
}

/// Solves for the pressure of every state of a file.
void compare_pressures(const std::string& file, PetscInt n, const char* of_mobility,
                       const char* of_pressure) {
    const GoldenTensor mobility = read_golden(file, of_mobility);
    const GoldenTensor pressure = read_golden(file, of_pressure);
    Grid grid;
    darcy::PressureSolver solver;
    OwnedVec a, p;
    PETSC_OK(grid.create(PETSC_COMM_WORLD, n));
    PETSC_OK(solver.create(grid));
    PETSC_OK(solver.set_tolerance(1e-12));
    PETSC_OK(grid.new_vec(&a));
    PETSC_OK(grid.new_vec(&p));
    for (int64_t state = 0; state < mobility.shape[0]; ++state) {
        PetscInt n_iteration = 0;
        Distance distance;
        set_cells(grid, mobility.part(state), a);
        PETSC_OK(solver.solve(a, false, p, &n_iteration));
        measure(grid, p, pressure.part(state), &distance);
        EXPECT_LE(distance.relative_l2, 1e-8) << of_pressure << " " << state;
    }
}

TEST(DarcyFlow, PressuresOf40CellsAreTheStoredOnes) {
    compare_pressures(data + "states.safetensors", 40, "mobility", "pressure");
    compare_pressures(data + "states.safetensors", 40, "run/mobility", "run/pressure");
}

TEST(DarcyFlow, PressuresOf33CellsAreTheStoredOnes) {
    compare_pressures(data + "states_33.safetensors", 33, "mobility", "pressure");
}

/// Cell values [i][j] of an array of one entry of a series, all pieces.
std::vector<double> cells_of(const std::string& file, const char* name, PetscInt n) {
    const auto grid = file.ends_with(".pvti") ? surrogate::test::read<vtkXMLPImageDataReader>(file)
                                              : surrogate::test::read<vtkXMLImageDataReader>(file);
    vtkDataArray* array = grid->GetCellData()->GetArray(name);
    std::vector<double> values(static_cast<size_t>(n * n), std::nan(""));
    if (array == nullptr || array->GetNumberOfTuples() != n * n) return values;
    for (PetscInt j = 0; j < n; ++j)
        for (PetscInt i = 0; i < n; ++i)
            values[static_cast<size_t>(i * n + j)] = array->GetComponent(i + n * j, 0);
    return values;
}

/// The stored run, in one of the four ways.
class DarcyFlowRun : public testing::Test {
protected:
    void run(const std::string& path, const darcy::Way& way) {
        OwnedVec initial;
        PETSC_OK(solver_.create(PETSC_COMM_WORLD, 40, path.c_str()));
        PETSC_OK(solver_.pressure_solver().set_tolerance(1e-12));
        PETSC_OK(solver_.grid().new_vec(&initial));
        set_cells(solver_.grid(), golden("run/c_initial").values, initial);
        PETSC_OK(solver_.run(way, initial, 24, dt_s, nullptr, &result_));
        measure(solver_.grid(), result_.c, golden("run/c_final").values, &distance_);
    }
    void run_again(const darcy::Way& way, darcy::Output* output) {
        OwnedVec initial;
        PETSC_OK(solver_.grid().new_vec(&initial));
        set_cells(solver_.grid(), golden("run/c_initial").values, initial);
        PETSC_OK(solver_.run(way, initial, 24, dt_s, output, &result_));
    }
    void expect_entry(const std::string& file, const char* name, Vec wanted, PetscReal bound) {
        Distance distance;
        measure(solver_.grid(), wanted, cells_of(file, name, 40), &distance);
        EXPECT_LE(distance.relative_l2, bound) << name << " in " << file;
    }
    void expect_entry(const std::string& file, const char* name,
                      const std::vector<double>& wanted) {
        EXPECT_EQ(cells_of(file, name, 40), wanted) << name << " in " << file;
    }
    void expect_stored_run() {
        Distance pressure;
        EXPECT_LE(distance_.largest, 1e-7);
        measure(solver_.grid(), result_.p, golden("run/pressure").part(23), &pressure);
        EXPECT_LE(pressure.relative_l2, 1e-7);
        EXPECT_LE(result_.mass_error(), 1e-9);
        EXPECT_EQ(result_.clipped, 0);
    }

    FlowSolver solver_;
    Result result_;
    Distance distance_;
};

TEST_F(DarcyFlowRun, FromZeroEndsAtTheStoredConcentration) {
    run("", darcy::ways[0]);
    expect_stored_run();
}

TEST_F(DarcyFlowRun, FromPreviousEndsAtTheStoredConcentration) {
    run("", darcy::ways[1]);
    expect_stored_run();
}

TEST_F(DarcyFlowRun, FromSurrogateKeepsTheAccuracyOfTheSolver) {
    run(model, darcy::ways[2]);
    expect_stored_run();
    EXPECT_EQ(result_.n_fallback, 0);
    EXPECT_GT(result_.seconds_surrogate, 0);
}

TEST_F(DarcyFlowRun, SurrogateAloneStaysNearTheStoredRun) {
    run(model, darcy::ways[3]);
    PetscReal low = 0, high = 0;
    PETSC_OK(VecMin(result_.c, nullptr, &low));
    PETSC_OK(VecMax(result_.c, nullptr, &high));
    EXPECT_GE(low, 0);
    EXPECT_LE(high, 1);
    EXPECT_EQ(result_.n_fallback, 0);
    EXPECT_EQ(result_.n_iteration, 0);
    // Six runs of the model's author ended with a mean of 0.015; twice that leaves room for this
    // one.
    EXPECT_LE(distance_.mean, 0.03);
    EXPECT_GT(distance_.mean, 1e-5) << "suspiciously good: was the solver used?";
    EXPECT_LE(result_.mass_error(), 0.05);
}

TEST_F(DarcyFlowRun, MissingModelLeavesTheSolverOnItsOwn) {
    run("/nonexistent/model.safetensors", darcy::ways[3]);
    EXPECT_FALSE(solver_.surrogate().is_ready());
    EXPECT_NE(solver_.surrogate().problem().find("model.safetensors"), std::string::npos)
        << solver_.surrogate().problem();
    EXPECT_EQ(result_.n_fallback, 24);
    EXPECT_LE(distance_.largest, 1e-7);
}

// A fluid six times as mobile as any in training. The guards trigger on all ranks in the first step
// with enough of it, and the run is bitwise identical to the solver's own.
TEST_F(DarcyFlowRun, FarFromTrainingTheGuardsLeaveAllToTheSolver) {
    solver_.mobilities.injected = 72;
    run(model, darcy::ways[3]);
    const Result guarded = std::move(result_);
    EXPECT_EQ(guarded.n_fallback, 24);
    EXPECT_NE(guarded.guards.find("rejected 24"), std::string::npos) << guarded.guards;
    EXPECT_NE(solver_.surrogate().problem().find("mobility"), std::string::npos)
        << solver_.surrogate().problem();
    run_again(darcy::ways[1], nullptr);
    PetscReal distance = 1;
    PETSC_OK(VecAXPY(guarded.c, -1, result_.c));
    PETSC_OK(VecNorm(guarded.c, NORM_INFINITY, &distance));
    EXPECT_EQ(guarded.n_iteration, result_.n_iteration);
    EXPECT_LE(distance, 1e-12);  // the multigrid's sums over ranks are MPI's
}

// 25 entries of 24 steps: the last one is the state that the table and the picture are about.
TEST_F(DarcyFlowRun, SeriesBeginsAndEndsWithTheRun) {
    for (const darcy::Way* way : {&darcy::ways[1], &darcy::ways[3]}) {
        run(model, *way);
        const Result without = std::move(result_);
        PetscMPIInt rank = 0;
        MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
        std::optional<surrogate::test::Folder> owner;
        if (rank == 0) owner.emplace();
        char folder[4096] = "";
        if (rank == 0) std::snprintf(folder, sizeof folder, "%s", (*owner / "").c_str());
        MPI_Bcast(folder, sizeof folder, MPI_CHAR, 0, PETSC_COMM_WORLD);
        darcy::Output output;
        PETSC_OK(output.create(solver_.grid(), folder, "run"));
        run_again(*way, &output);

        // The run is the same, and counts the same. (Sums of the surrogate's fast mode may round
        // otherwise from run to run.)
        PetscReal distance = 1;
        PETSC_OK(VecAXPY(without.c, -1, result_.c));
        PETSC_OK(VecNorm(without.c, NORM_INFINITY, &distance));
        EXPECT_LE(distance, 1e-7);
        EXPECT_EQ(result_.n_iteration, without.n_iteration);
        EXPECT_EQ(result_.n_fallback, 0);

        const auto steps = surrogate::test::read_pvd(std::string(folder) + "run.pvd");
        ASSERT_EQ(steps.size(), 25u);
        for (size_t k = 0; k < steps.size(); ++k)
            EXPECT_DOUBLE_EQ(steps[k].time_s, static_cast<double>(k) * dt_s);
        const Grid& grid = solver_.grid();
        OwnedVec a, p;
        PETSC_OK(grid.new_vec(&a));
        PETSC_OK(grid.new_vec(&p));
        PETSC_OK(solver_.pressure_at_end(result_, a, p));
        const std::string first = folder + steps.front().file, last = folder + steps.back().file;
        expect_entry(first, "concentration", golden("run/c_initial").values);
        expect_entry(last, "concentration", result_.c, 0);
        expect_entry(last, "mobility", a, 0);
        expect_entry(last, "pressure", p, 1e-5);
        PetscReal norm = 0;
        PETSC_OK(VecNorm(p, NORM_2, &norm));
        PETSC_OK(VecAXPY(p, -1, result_.p));
        PETSC_OK(VecNorm(p, NORM_2, &distance));
        EXPECT_GE(distance, 1e-3 * norm) << "the pressure that made the state is not that of it";
        MPI_Barrier(PETSC_COMM_WORLD);  // before the folder goes
    }
}

TEST(DarcyFlow, PredictionsAreTheStoredOnes) {
    const GoldenTensor mobility = golden("mobility"), prediction = golden("prediction");
    Grid grid;
    darcy::SurrogatePressure surrogate;
    OwnedVec a, p;
    PETSC_OK(grid.create(PETSC_COMM_WORLD, 40));
    PETSC_OK(surrogate.create(grid, official_model.c_str()));
    ASSERT_TRUE(surrogate.is_ready()) << surrogate.problem();
    PETSC_OK(grid.new_vec(&a));
    PETSC_OK(grid.new_vec(&p));
    for (int64_t state = 0; state < mobility.shape[0]; ++state) {
        bool is_done = false;
        Distance distance;
        set_cells(grid, mobility.part(state), a);
        PETSC_OK(surrogate.predict(dt_s, a, p, &is_done));
        ASSERT_TRUE(is_done) << surrogate.problem();
        measure(grid, p, prediction.part(state), &distance);
        EXPECT_LE(distance.relative_l2, 2e-6) << "state " << state;
    }
}

TEST(DarcyFlow, FieldThatIsNotFiniteIsRefusedOnEveryRankAndTheNextIsExact) {
    Grid grid;
    darcy::SurrogatePressure surrogate;
    OwnedVec a, p;
    bool is_done = true;
    Distance distance;
    PETSC_OK(grid.create(PETSC_COMM_WORLD, 40));
    PETSC_OK(surrogate.create(grid, official_model.c_str()));
    ASSERT_TRUE(surrogate.is_ready()) << surrogate.problem();
    PETSC_OK(grid.new_vec(&a));
    PETSC_OK(grid.new_vec(&p));
    std::vector<double> values = golden("mobility").part(0);
    values[17] = std::numeric_limits<double>::quiet_NaN();  // a cell of one rank
    set_cells(grid, values, a);
    PETSC_OK(surrogate.predict(dt_s, a, p, &is_done));
    EXPECT_FALSE(is_done);
    EXPECT_FALSE(surrogate.problem().empty());

    set_cells(grid, golden("mobility").part(0), a);
    PETSC_OK(surrogate.predict(dt_s, a, p, &is_done));
    EXPECT_TRUE(is_done) << surrogate.problem();
    measure(grid, p, golden("prediction").part(0), &distance);
    EXPECT_LE(distance.relative_l2, 2e-6);
}

TEST(DarcyFlow, RandomFluidDoesNotDependOnTheNumberOfRanks) {
    Grid grid, alone;
    OwnedVec c, expected;
    darcy::Box box;
    PETSC_OK(grid.create(PETSC_COMM_WORLD, 21));
    PETSC_OK(alone.create(PETSC_COMM_SELF, 21));
    PETSC_OK(grid.new_vec(&c));
    PETSC_OK(alone.new_vec(&expected));
    PETSC_OK(box.of(grid));
    for (uint64_t seed = 0; seed < 5; ++seed) {
        PETSC_OK(darcy::random_fluid(grid, seed, c));
        PETSC_OK(darcy::random_fluid(alone, seed, expected));
        const darcy::CellsRead mine(grid, c), theirs(alone, expected);
        for (PetscInt j = box.j0; j < box.j1; ++j)
            for (PetscInt i = box.i0; i < box.i1; ++i)
                EXPECT_NEAR(mine(i, j), theirs(i, j), 1e-10) << seed << ": " << i << ", " << j;
    }
}

TEST(DarcyFlow, FluidOfAFileIsReadAsItWasWritten) {
    Grid grid;
    OwnedVec written, found;
    darcy::Owner<PetscViewer, PetscViewerDestroy> file;
    PetscMPIInt size = 0;
    PetscBool same = PETSC_FALSE;
    PETSC_OK(grid.create(PETSC_COMM_WORLD, 21));
    PETSC_OK(grid.new_vec(&written));
    PETSC_OK(grid.new_vec(&found));
    PETSC_OK(darcy::random_fluid(grid, 3, written));
    MPI_Comm_size(PETSC_COMM_WORLD, &size);
    const std::string path = testing::TempDir() + "darcy_flow_fluid_" + std::to_string(size);
    PETSC_OK(PetscViewerBinaryOpen(PETSC_COMM_WORLD, path.c_str(), FILE_MODE_WRITE, file.out()));
    PETSC_OK(VecView(written, file));
    *file.out() = nullptr;  // closes
    PETSC_OK(darcy::read_fluid(grid, path.c_str(), found));
    PETSC_OK(VecEqual(written, found, &same));
    EXPECT_TRUE(same);
    EXPECT_NE(darcy::read_fluid(grid, (path + "_not_there").c_str(), found), 0);
    MPI_Barrier(PETSC_COMM_WORLD);
    std::remove(path.c_str());
    std::remove((path + ".info").c_str());
}

TEST(DarcyFlow, RandomFluidsDifferAndFillTheRange) {
    Grid grid;
    OwnedVec c, other;
    PETSC_OK(grid.create(PETSC_COMM_WORLD, 40));
    PETSC_OK(grid.new_vec(&c));
    PETSC_OK(grid.new_vec(&other));
    PETSC_OK(darcy::random_fluid(grid, 7, c));
    PETSC_OK(darcy::random_fluid(grid, 8, other));
    PetscReal low = -1, high = 2, distance = 0;
    PETSC_OK(VecMin(c, nullptr, &low));
    PETSC_OK(VecMax(c, nullptr, &high));
    EXPECT_GE(low, 0);
    EXPECT_LE(high, 1);
    EXPECT_GT(high - low, 0.5);
    PETSC_OK(VecAXPY(other, -1, c));
    PETSC_OK(VecNorm(other, NORM_INFINITY, &distance));
    EXPECT_GT(distance, 0.1);
}

}  // namespace
