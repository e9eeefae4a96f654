// SPDX-License-Identifier: Apache-2.0
// Training sets of the two fluids: the stored run, what is drawn, the images of the square, files.
#include <gtest/gtest.h>
#include <surrogate/surrogate_petsc.h>

#include <cmath>
#include <set>
#include <surrogate/surrogate_mpi.hpp>
#include <vector>

#include "maker.hpp"
#include "states.hpp"
#include "tests/coupling/petsc/petsc_environment.hpp"
#include "tests/support/found_dataset.hpp"
#include "tests/support/golden_file.hpp"
#include "tests/support/shared_folder.hpp"

namespace {

using darcy::DataSettings;
using darcy::OwnedVec;
using darcy::RunMaker;
using surrogate::test::bytes_of;
using surrogate::test::FoundDataset;
using surrogate::test::read_golden;

[[maybe_unused]] const auto* const environment =
    testing::AddGlobalTestEnvironment(new surrogate::test::PetscEnvironment);

const std::string stored = SURROGATE_TEST_DATA "/darcy_flow/states.safetensors";

using Values = std::vector<double>;

double relative_l2(const Values& a, const Values& b) {
    double error = 0, size = 0;
    for (size_t i = 0; i < b.size(); ++i) {
        error += (a.at(i) - b[i]) * (a.at(i) - b[i]);
        size += b[i] * b[i];
    }
    return std::sqrt(error / size);
}

/// values [x][y] into a vector of a grid on one rank.
void set_cells(const darcy::Grid& grid, const Values& values, Vec vec) {
    const darcy::Cells cell(grid, vec);
    for (PetscInt i = 0; i < grid.n; ++i)
        for (PetscInt j = 0; j < grid.n; ++j)
            cell(i, j) = values[static_cast<size_t>(i * grid.n + j)];
}

/// Solves for the pressure of a mobility [x][y] again.
void solve(PetscInt n, const Values& mobility, Values* pressure) {
    darcy::Grid grid;
    darcy::PressureSolver solver;
    OwnedVec a, p;
    PetscInt n_iteration = 0;
    PETSC_OK(grid.create(PETSC_COMM_SELF, n));
    PETSC_OK(solver.create_direct(grid));
    PETSC_OK(grid.new_vec(&a));
    PETSC_OK(grid.new_vec(&p));
    set_cells(grid, mobility, a);
    PETSC_OK(solver.solve(a, false, p, &n_iteration));
    const darcy::CellsRead cell(grid, p);
    pressure->clear();
    for (PetscInt i = 0; i < n; ++i)
        for (PetscInt j = 0; j < n; ++j) pressure->push_back(cell(i, j));
}

Values part(const Values& all, int64_t index, int64_t n) {
    return {all.begin() + index * n, all.begin() + (index + 1) * n};
}

TEST(DarcyData, StatesAreThoseOfTheStoredRun) {
    const auto mobility = read_golden(stored, "run/mobility");
    const auto pressure = read_golden(stored, "run/pressure");
    RunMaker maker;
    OwnedVec c;
    PETSC_OK(maker.create(40, {}));
    PETSC_OK(maker.grid().new_vec(&c));
    set_cells(maker.grid(), read_golden(stored, "run/c_initial").values, c);
    PetscInt n_step = 0;
    PETSC_OK(maker.run(c, 24, 0.02, [&](PetscInt step, const Values& a, const Values& p) {
        EXPECT_LE(relative_l2(a, mobility.part(step)), 1e-8) << step;
        EXPECT_LE(relative_l2(p, pressure.part(step)), 1e-8) << step;
        EXPECT_EQ(step, n_step++);
        return PetscErrorCode(0);
    }));
    EXPECT_EQ(n_step, 24);
    OwnedVec last;
    PetscReal largest = 0;
    PETSC_OK(maker.grid().new_vec(&last));
    set_cells(maker.grid(), read_golden(stored, "run/c_final").values, last);
    PETSC_OK(VecAXPY(last, -1, c));
    PETSC_OK(VecNorm(last, NORM_INFINITY, &largest));
    EXPECT_LE(largest, 1e-7);
}

TEST(DarcyData, StepsAreDrawnOnceAndByTheSeed) {
    std::vector<int> count(24);
    for (uint64_t seed = 0; seed < 2000; ++seed) {
        const std::vector<PetscInt> steps = darcy::drawn_steps(seed, 24, 5);
        EXPECT_EQ(std::set<PetscInt>(steps.begin(), steps.end()).size(), 5u);
        EXPECT_EQ(steps, darcy::drawn_steps(seed, 24, 5));
        for (const PetscInt step : steps) ++count.at(static_cast<size_t>(step));
    }
    // Each step 2000 * 5 / 24 = 417 times, deviation 18: five of them.
    for (const int n : count) EXPECT_NEAR(n, 417, 90);
    EXPECT_EQ(darcy::drawn_steps(3, 4, 4), (std::vector<PetscInt>{0, 1, 2, 3}));
    EXPECT_EQ(darcy::drawn_images(3, 7, 1), std::vector<int>{0});
    const std::vector<int> all = darcy::drawn_images(3, 7, 8);
    EXPECT_EQ(std::set<int>(all.begin(), all.end()).size(), 8u);
}

TEST(DarcyData, ImagesOfAStateSolveTheEquation) {
    const Values mobility = read_golden(stored, "mobility").part(0);
    Values pressure, of_image;
    std::set<Values> images;
    solve(40, mobility, &pressure);
    for (int image = 0; image < 8; ++image) {
        images.insert(darcy::image_of(mobility, 40, image));
        solve(40, darcy::image_of(mobility, 40, image), &of_image);
        EXPECT_LE(relative_l2(of_image, darcy::image_of(pressure, 40, image)), 1e-11) << image;
    }
    EXPECT_EQ(images.size(), 8u);
}

class DarcyDataFile : public testing::Test {
protected:
    DarcyDataFile() {
        settings_.n_run = 4;
        settings_.per_run = 2;
        settings_.n_symmetry = 3;
        settings_.n_step = 6;
    }
    std::string make(MPI_Comm comm, const char* folder) {
        settings_.output = folder_ / folder;
        std::filesystem::create_directories(settings_.output);
        MPI_Barrier(comm);
        const surrogate::Context context = surrogate::mpi_context(comm);
        EXPECT_EQ(darcy::make_data(comm, context.get(), settings_, 10), 0);
        return settings_.path(10);
    }

    const surrogate::test::SharedFolder folder_{MPI_COMM_WORLD};
    DataSettings settings_;
};

TEST_F(DarcyDataFile, HasPressuresOfItsMobilities) {
    const FoundDataset found(make(MPI_COMM_WORLD, "all"));
    const Values mobility = found.numbers("mobility"), pressure = found.numbers("pressure");
    ASSERT_EQ(mobility.size(), 24u * 100);
    Values again;
    std::set<Values> different;
    for (int64_t s = 0; s < 24; ++s) {
        different.insert(part(mobility, s, 100));
        solve(10, part(mobility, s, 100), &again);
        EXPECT_LE(relative_l2(part(pressure, s, 100), again), 1e-12) << s;
    }
    EXPECT_EQ(different.size(), 24u);
    EXPECT_EQ(found.axes("mobility"), (std::vector<std::string>{"sample", "x", "y"}));
    EXPECT_EQ(found.numbers("y").front(), 0.05);
    EXPECT_EQ(found.text("", "source"),
              "darcy_data -n 10 -runs 4 -per_run 2 -steps 6 -dt 0.02 -seed 0 -symmetries 3 "
              "-injected 12");
}

TEST_F(DarcyDataFile, HasTheSameBytesOnAnyRanks) {
    const std::string together = make(MPI_COMM_WORLD, "all");
    const std::string alone =
        make(MPI_COMM_SELF,
             ("rank_" + std::to_string(surrogate::test::rank_of(MPI_COMM_WORLD))).c_str());
    EXPECT_TRUE(bytes_of(together) == bytes_of(alone));
    settings_.seed = 1;
    EXPECT_FALSE(bytes_of(make(MPI_COMM_WORLD, "other")) == bytes_of(alone));
}

}  // namespace
