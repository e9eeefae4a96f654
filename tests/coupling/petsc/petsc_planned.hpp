// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <petscdmda.h>
#include <surrogate/surrogate_petsc.h>

#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include "tests/coupling/petsc/petsc_environment.hpp"

namespace surrogate::test {

inline constexpr const char* model_path = SURROGATE_SHARE "/models/darcy_flow.safetensors";
inline constexpr PetscInt n_x = 9, n_y = 7;  // cells, so that no rank count divides them
inline constexpr PetscScalar untouched = -77;

inline PetscMPIInt world_rank() {
    PetscMPIInt rank = 0;
    MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
    return rank;
}

inline PetscMPIInt world_size() {
    PetscMPIInt size = 0;
    MPI_Comm_size(PETSC_COMM_WORLD, &size);
    return size;
}

inline void make_da(MPI_Comm comm, PetscInt n_component, DM* da) {
    PETSC_OK(DMDACreate2d(comm, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, n_x, n_y,
                          PETSC_DECIDE, PETSC_DECIDE, n_component, 1, nullptr, nullptr, da));
    PETSC_OK(DMSetUp(*da));
    PETSC_OK(
        DMDASetUniformCoordinates(*da, 0.5 / n_x, 1 - 0.5 / n_x, 0.5 / n_y, 1 - 0.5 / n_y, 0, 0));
}

/// A mobility between 3 and 12 that differs from cell to cell.
inline PetscScalar mobility_at(PetscInt i, PetscInt j) {
    return 7.5 + 4.4 * std::sin(1.3 * double(i) + 0.7 * double(j) * double(j));
}

inline void fill(DM da, Vec vec, PetscInt component, PetscInt n_component) {
    PetscInt x = 0, y = 0, width = 0, height = 0;
    PetscScalar* data = nullptr;
    PETSC_OK(DMDAGetCorners(da, &x, &y, nullptr, &width, &height, nullptr));
    PETSC_OK(VecGetArray(vec, &data));
    for (PetscInt j = 0; j < height; ++j)
        for (PetscInt i = 0; i < width; ++i)
            data[(j * width + i) * n_component + component] = mobility_at(x + i, y + j);
    PETSC_OK(VecRestoreArray(vec, &data));
}

inline std::vector<PetscScalar> values_of(Vec vec, PetscInt component = 0,
                                          PetscInt n_component = 1) {
    PetscInt n = 0;
    const PetscScalar* data = nullptr;
    std::vector<PetscScalar> values;
    if (VecGetLocalSize(vec, &n) || VecGetArrayRead(vec, &data)) return values;
    for (PetscInt k = component; k < n; k += n_component) values.push_back(data[k]);
    if (VecRestoreArrayRead(vec, &data)) values.clear();
    return values;
}

/// The model planned on the cells of a DMDA, with one vector in and one out.
class Planned {
public:
    explicit Planned(MPI_Comm comm = PETSC_COMM_WORLD, bool reproducible = false) {
        build(comm, reproducible);
    }
    ~Planned() {
        surrogate_plan_destroy(&plan);
        surrogate_domain_destroy(&domain);
        surrogate_model_destroy(&model);
        surrogate_context_destroy(&context);
        std::ignore = VecDestroy(&in);
        std::ignore = VecDestroy(&out);
        std::ignore = DMDestroy(&da);
    }
    Planned(const Planned&) = delete;
    Planned& operator=(const Planned&) = delete;

    PetscErrorCode run(const surrogate_vec_field& from, const surrogate_vec_field& to) {
        return surrogate_plan_run_vec(plan, 1, &from, 1, &to);
    }
    surrogate_vec_field input() const { return {"mobility", "m^2/(Pa s)", in, 0, 0}; }
    surrogate_vec_field output() const { return {"pressure", "Pa", out, 0, 0}; }

    /// The prediction for the usual mobility, which must succeed after whatever happened before.
    std::vector<PetscScalar> predict() {
        const PetscErrorCode error = run(input(), output());
        EXPECT_EQ(error, 0) << petsc_text(error);
        return values_of(out);
    }

    DM da = nullptr;
    Vec in = nullptr, out = nullptr;
    surrogate_context* context = nullptr;
    surrogate_model* model = nullptr;
    surrogate_domain* domain = nullptr;
    surrogate_plan* plan = nullptr;

private:
    void build(MPI_Comm comm, bool reproducible) {
        make_da(comm, 1, &da);
        if (reproducible)
            PETSC_OK(PetscOptionsSetValue(nullptr, "-surrogate_reproducible", nullptr));
        PETSC_OK(surrogate_context_create_petsc(comm, nullptr, &context));
        if (reproducible) PETSC_OK(PetscOptionsClearValue(nullptr, "-surrogate_reproducible"));
        PETSC_OK(surrogate_model_load_petsc(context, model_path, &model));
        PETSC_OK(surrogate_domain_create_dm(context, da, &domain));
        PETSC_OK(surrogate_plan_create_petsc(model, domain, nullptr, &plan));
        PETSC_OK(DMCreateGlobalVector(da, &in));
        PETSC_OK(VecDuplicate(in, &out));
        fill(da, in, 0, 1);
    }
};

}  // namespace surrogate::test
