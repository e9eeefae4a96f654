// SPDX-License-Identifier: Apache-2.0
// The inverse example on a coarse grid: both gradients against differences, and the recovered
// mobilities against the true one, on any number of ranks.
#include <gtest/gtest.h>

#include <cmath>
#include <fluid/initial.hpp>
#include <utility>

#include "adjoint_solver.hpp"
#include "inversion.hpp"
#include "surrogate_gradient.hpp"
#include "tests/coupling/petsc/petsc_environment.hpp"

namespace {

using darcy::OwnedVec;
using inverse::Forward;

[[maybe_unused]] const auto* const environment =
    testing::AddGlobalTestEnvironment(new surrogate::test::PetscEnvironment);

/// The problem of the program with -n 20 -modes 3 -sensors 5.
class Inverse : public testing::Test {
protected:
    void SetUp() override {
        OwnedVec p;
        // Few messages, for machines with fewer cores than ranks.
        PETSC_OK(PetscOptionsSetValue(nullptr, "-pc_type", "redundant"));
        PETSC_OK(grid_.create(PETSC_COMM_WORLD, 20));
        PETSC_OK(solver_.create(grid_));
        PETSC_OK(modes_.create(grid_, 3, 0.3, {}));
        PETSC_OK(modes_.new_parameters(&theta_));
        PETSC_OK(sensors_.create(grid_, 5));
        PETSC_OK(inversion_.create(grid_, &modes_, &sensors_, 1));
        PETSC_OK(grid_.new_vec(&truth_));
        PETSC_OK(grid_.new_vec(&p));
        PETSC_OK(darcy::random_fluid(grid_, 7, p));
        PETSC_OK(darcy::mobility_of({}, p, truth_));
        PETSC_OK(solver_.pressure(truth_, p));
        PETSC_OK(sensors_.measure(p, 0.01, 7));
    }

    /// Sets theta to numbers that are functions of their index.
    void set_theta() {
        PetscInt first = 0, last = 0;
        PETSC_OK(VecGetOwnershipRange(theta_, &first, &last));
        for (PetscInt m = first; m < last; ++m)
            PETSC_OK(VecSetValue(theta_, m, 0.3 * std::sin(1.0 + double(m)), INSERT_VALUES));
        PETSC_OK(VecAssemblyBegin(theta_));
        PETSC_OK(VecAssemblyEnd(theta_));
    }

    /// Compares dJ/dtheta with central differences of J in every parameter.
    void expect_gradient(Forward* forward, double bound) {
        OwnedVec gradient, differences;
        PetscReal j = 0, error = 0, norm = 0;
        set_theta();
        PETSC_OK(VecDuplicate(theta_, gradient.out()));
        PETSC_OK(VecDuplicate(theta_, differences.out()));
        inversion_.use(forward);
        PETSC_OK(inversion_.evaluate(theta_, &j, gradient));
        const PetscReal step = 1e-4;
        for (PetscInt m = 0; m < 9; ++m) {
            PetscReal sides[2] = {0, 0};
            for (int side = 0; side < 2; ++side) {
                add(m, side == 0 ? step : -2 * step);
                PETSC_OK(inversion_.evaluate(theta_, &sides[side], nullptr));
            }
            add(m, step);
            PETSC_OK(
                VecSetValue(differences, m, (sides[0] - sides[1]) / (2 * step), INSERT_VALUES));
        }
        PETSC_OK(VecAssemblyBegin(differences));
        PETSC_OK(VecAssemblyEnd(differences));
        PETSC_OK(VecNorm(gradient, NORM_2, &norm));
        PETSC_OK(VecAXPY(differences, -1, gradient));
        PETSC_OK(VecNorm(differences, NORM_2, &error));
        EXPECT_GT(norm, 100);
        EXPECT_LE(error, bound * norm);
    }
    void add(PetscInt m, PetscReal value) {
        PetscInt first = 0, last = 0;
        PETSC_OK(VecGetOwnershipRange(theta_, &first, &last));
        if (m >= first && m < last) PETSC_OK(VecSetValue(theta_, m, value, ADD_VALUES));
        PETSC_OK(VecAssemblyBegin(theta_));
        PETSC_OK(VecAssemblyEnd(theta_));
    }

    /// Inverts from theta = 0. The solver's misfit of the result is per sensor, the error relative.
    void invert(Forward* forward, bool by_differences, PetscReal* misfit, PetscReal* error) {
        inverse::Result result;
        PetscReal start = 0, norm = 0;
        OwnedVec a;
        PETSC_OK(grid_.new_vec(&a));
        PETSC_OK(modes_.mobility(theta_, a));
        PETSC_OK(inversion_.misfit_of(&solver_, a, &start));
        PETSC_OK(inversion_.run(forward, by_differences, theta_, &result));
        EXPECT_GT(result.reason, 0);
        PETSC_OK(inversion_.misfit_of(&solver_, result.a, misfit));
        EXPECT_LE(*misfit, start / 50);
        *misfit *= 2 / PetscReal(sensors_.size());
        PETSC_OK(VecAXPY(result.a, -1, truth_));
        PETSC_OK(VecNorm(result.a, NORM_2, error));
        PETSC_OK(VecNorm(truth_, NORM_2, &norm));
        *error /= norm;
    }

    darcy::Grid grid_;
    inverse::AdjointSolver solver_;
    inverse::Modes modes_;
    inverse::Sensors sensors_;
    inverse::Inversion inversion_;
    OwnedVec theta_, truth_;
};

const std::string model = SURROGATE_SHARE "/models/darcy_flow.safetensors";

TEST_F(Inverse, AdjointGradientIsThatOfDifferences) {
    expect_gradient(&solver_, 1e-6);
}

TEST_F(Inverse, SurrogateGradientIsThatOfDifferences) {
    inverse::SurrogateGradient surrogate;
    PETSC_OK(PetscOptionsInsertString(nullptr, "-surrogate_backend ref -surrogate_precision fp64"));
    PETSC_OK(surrogate.create(grid_, model));
    PETSC_OK(PetscOptionsClearValue(nullptr, "-surrogate_backend"));
    PETSC_OK(PetscOptionsClearValue(nullptr, "-surrogate_precision"));
    expect_gradient(&surrogate, 1e-6);
}

TEST_F(Inverse, AdjointRecoversTheMobility) {
    PetscReal misfit = 0, error = 0, by_differences[2] = {0, 0};
    invert(&solver_, false, &misfit, &error);
    EXPECT_NEAR(misfit, 2.111, 0.01);
    EXPECT_NEAR(error, 0.2194, 1e-3);
    invert(&solver_, true, &by_differences[0], &by_differences[1]);
    EXPECT_NEAR(by_differences[0], misfit, 0.01);
    EXPECT_NEAR(by_differences[1], error, 1e-3);
}

TEST_F(Inverse, SurrogateRecoversTheMobility) {
    PetscReal misfit = 0, error = 0;
    inverse::SurrogateGradient surrogate;
    PETSC_OK(surrogate.create(grid_, model));
    invert(&surrogate, false, &misfit, &error);
    EXPECT_NEAR(misfit, 2.412, 0.05);
    EXPECT_NEAR(error, 0.2210, 2e-3);
}

TEST_F(Inverse, OtherModelsAreRejected) {
    inverse::SurrogateGradient surrogate;
    EXPECT_NE(surrogate.create(grid_, SURROGATE_SHARE "/models/airflow.safetensors"), 0);
}

}  // namespace
