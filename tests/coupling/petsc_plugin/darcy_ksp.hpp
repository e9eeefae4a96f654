// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <mpi.h>
#include <petscdmda.h>
#include <petscksp.h>
#include <surrogate/surrogate_petsc.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "tests/coupling/petsc/petsc_environment.hpp"
#include "tests/coupling/petsc_plugin/flare_files.hpp"

namespace surrogate::test {

inline constexpr const char* darcy_model = SURROGATE_SHARE "/models/darcy_flow.safetensors";

inline int world_rank() {
    int rank = 0;
    MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
    return rank;
}

/// Options of PETSc's database with their values.
using OptionMap = std::map<std::string, std::string>;

/// Options in the database while this lives.
class OptionScope {
public:
    explicit OptionScope(OptionMap options) : options_(std::move(options)) {
        for (const auto& [key, value] : options_)
            EXPECT_EQ(PetscOptionsSetValue(nullptr, key.c_str(), value.c_str()), 0);
    }
    ~OptionScope() {
        for (const auto& [key, value] : options_)
            std::ignore = PetscOptionsClearValue(nullptr, key.c_str());
    }
    OptionScope(const OptionScope&) = delete;
    OptionScope& operator=(const OptionScope&) = delete;

private:
    OptionMap options_;
};

/// A model file that rank 0 writes. Collective.
inline std::string model_file(const std::string& name, const ModelWriter& writer) {
    int process = int(getpid());
    MPI_Bcast(&process, 1, MPI_INT, 0, PETSC_COMM_WORLD);
    const std::string path = testing::TempDir() + "/petsc_plugin_" + name + "_" +
                             std::to_string(process) + ".safetensors";
    if (world_rank() == 0) write_file(path, writer);
    MPI_Barrier(PETSC_COMM_WORLD);
    return path;
}

/// A text of rank 0 on all ranks.
inline std::string shared_text(std::string text) {
    int size = int(text.size());
    MPI_Bcast(&size, 1, MPI_INT, 0, PETSC_COMM_WORLD);
    text.resize(size_t(size));
    MPI_Bcast(text.data(), size, MPI_CHAR, 0, PETSC_COMM_WORLD);
    return text;
}

/// Returns the text that `print` writes to a viewer, on all ranks. Collective.
template <class Print>
std::string printed(Print print) {
    const std::string path =
        shared_text(testing::TempDir() + "/petsc_plugin_view_" + std::to_string(getpid()));
    PetscViewer viewer = nullptr;
    EXPECT_EQ(PetscViewerASCIIOpen(PETSC_COMM_WORLD, path.c_str(), &viewer), 0);
    EXPECT_EQ(print(viewer), 0);
    EXPECT_EQ(PetscViewerDestroy(&viewer), 0);
    std::ostringstream text;
    if (world_rank() == 0) {
        text << std::ifstream(path).rdbuf();
        std::remove(path.c_str());
    }
    return shared_text(text.str());
}

/// -div(a grad p) = 1 on the unit square in n x n cells, p = 0 on the edges, and a KSP for it: the
/// problem that share/models/darcy_flow was trained on.
class DarcyKsp {
public:
    static constexpr PetscInt n = 24;

    /// has_dm: the KSP, its matrix, rhs and x know the DM, else none of them does.
    explicit DarcyKsp(bool has_coordinates = true, bool has_dm = true) {
        build(has_coordinates, has_dm);
    }
    ~DarcyKsp() {
        std::ignore = KSPDestroy(&ksp);
        std::ignore = MatDestroy(&matrix);
        std::ignore = VecDestroy(&mobility);
        std::ignore = VecDestroy(&rhs);
        std::ignore = VecDestroy(&x);
        std::ignore = DMDestroy(&da);
    }
    DarcyKsp(const DarcyKsp&) = delete;
    DarcyKsp& operator=(const DarcyKsp&) = delete;

    /// Mobility 12 in a blob around (x0, 0.6), 3 elsewhere, and its matrix. It has no symmetry: one
    /// of the start would let the iteration from zero converge in fewer steps than any prediction.
    void set_blob(double x0) {
        PetscScalar** a = nullptr;
        PETSC_OK(DMDAVecGetArray(da, mobility, &a));
        for_cells([&](PetscInt i, PetscInt j) { a[j][i] = blob(x0, i, j); });
        PETSC_OK(DMDAVecRestoreArray(da, mobility, &a));
        assemble(x0);
    }

    /// Closes the edges: the matrix gets the constants as its null space, and rhs loses its mean.
    void close_edges() {
        is_closed_ = true;
        assemble(0.4);
        MatNullSpace constants = nullptr;
        PETSC_OK(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, nullptr, &constants));
        PETSC_OK(MatSetNullSpace(matrix, constants));
        PETSC_OK(MatNullSpaceRemove(constants, rhs));
        PETSC_OK(MatNullSpaceDestroy(&constants));
    }

    /// One solve: the residual norms of its iterations.
    std::vector<PetscReal> solve() {
        const PetscErrorCode error = KSPSolve(ksp, rhs, x);
        EXPECT_EQ(error, 0) << petsc_text(error);
        const PetscReal* history = nullptr;
        PetscInt n_history = 0;
        EXPECT_EQ(KSPGetResidualHistory(ksp, &history, &n_history), 0);
        return {history, history + n_history};
    }

    std::string view() {
        return printed([this](PetscViewer viewer) { return KSPView(ksp, viewer); });
    }

    void compose(PetscObject holder, const char* name) {
        PETSC_OK(PetscObjectCompose(holder, name, PetscObject(mobility)));
    }

    DM da = nullptr;
    Mat matrix = nullptr;
    Vec mobility = nullptr, rhs = nullptr, x = nullptr;
    KSP ksp = nullptr;

private:
    template <class Visit>
    void for_cells(Visit visit) {
        PetscInt x0 = 0, y0 = 0, width = 0, height = 0;
        PETSC_OK(DMDAGetCorners(da, &x0, &y0, nullptr, &width, &height, nullptr));
        for (PetscInt j = y0; j < y0 + height; ++j)
            for (PetscInt i = x0; i < x0 + width; ++i) visit(i, j);
    }
    static double blob(double x0, PetscInt i, PetscInt j) {
        const double dx = (double(i) + 0.5) / n - x0, dy = (double(j) + 0.5) / n - 0.6;
        return 3 + 9 / (1 + std::exp((std::sqrt(dx * dx + dy * dy) - 0.25) / 0.05));
    }
    void assemble(double x0) {
        for_cells([&](PetscInt i, PetscInt j) {
            const MatStencil row = {0, j, i, 0};
            const PetscInt di[4] = {-1, 1, 0, 0}, dj[4] = {0, 0, -1, 1};
            const double here = blob(x0, i, j);
            double diagonal = 0;
            for (int face = 0; face < 4; ++face) {
                const MatStencil column = {0, j + dj[face], i + di[face], 0};
                const bool is_edge = column.i < 0 || column.j < 0 || column.i >= n || column.j >= n;
                const double there = blob(x0, column.i, column.j);
                const PetscScalar t = !is_edge     ? 2 * here * there / (here + there)
                                      : is_closed_ ? 0
                                                   : 2 * here;
                const PetscScalar minus_t = -t;
                diagonal += t;
                if (!is_edge)
                    PETSC_OK(
                        MatSetValuesStencil(matrix, 1, &row, 1, &column, &minus_t, INSERT_VALUES));
            }
            PETSC_OK(MatSetValuesStencil(matrix, 1, &row, 1, &row, &diagonal, INSERT_VALUES));
        });
        PETSC_OK(MatAssemblyBegin(matrix, MAT_FINAL_ASSEMBLY));
        PETSC_OK(MatAssemblyEnd(matrix, MAT_FINAL_ASSEMBLY));
    }
    void build(bool has_coordinates, bool has_dm) {
        PETSC_OK(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE,
                              DMDA_STENCIL_STAR, n, n, PETSC_DECIDE, PETSC_DECIDE, 1, 1, nullptr,
                              nullptr, &da));
        PETSC_OK(DMSetUp(da));
        const PetscReal half = 0.5 / n;
        if (has_coordinates)
            PETSC_OK(DMDASetUniformCoordinates(da, half, 1 - half, half, 1 - half, 0, 0));
        PETSC_OK(DMCreateGlobalVector(da, &mobility));
        if (has_dm) {
            PETSC_OK(VecDuplicate(mobility, &rhs));
        } else {
            PetscInt n_local = 0;
            PETSC_OK(VecGetLocalSize(mobility, &n_local));
            PETSC_OK(VecCreateMPI(PETSC_COMM_WORLD, n_local, PETSC_DETERMINE, &rhs));
        }
        PETSC_OK(VecDuplicate(rhs, &x));
        PETSC_OK(VecSet(rhs, 1.0 / (n * n)));
        PETSC_OK(VecSet(x, 77));
        PETSC_OK(DMCreateMatrix(da, &matrix));
        set_blob(0.4);
        PETSC_OK(KSPCreate(PETSC_COMM_WORLD, &ksp));
        PETSC_OK(KSPSetOperators(ksp, matrix, matrix));
        if (has_dm) {
            PETSC_OK(KSPSetDM(ksp, da));
            PETSC_OK(KSPSetDMActive(ksp, PETSC_FALSE));
        } else {
            PETSC_OK(MatSetDM(matrix, nullptr));
        }
        PETSC_OK(KSPSetType(ksp, KSPCG));
        PETSC_OK(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
        PC pc = nullptr;
        PETSC_OK(KSPGetPC(ksp, &pc));
        PETSC_OK(PCSetType(pc, PCJACOBI));
        PETSC_OK(KSPSetTolerances(ksp, 1e-6, 0, PETSC_DEFAULT, PETSC_DEFAULT));
        PETSC_OK(KSPSetResidualHistory(ksp, nullptr, PETSC_DECIDE, PETSC_TRUE));
        PETSC_OK(KSPSetFromOptions(ksp));
    }

    bool is_closed_ = false;
};

/// Writes what a model of coordinates alone predicts on a DM to a Vec. Collective.
inline void predict(const std::string& path, const char* output, DM dm, Vec to) {
    surrogate_context* context = nullptr;
    surrogate_model* model = nullptr;
    surrogate_domain* domain = nullptr;
    surrogate_plan* plan = nullptr;
    PETSC_OK(surrogate_context_create_petsc(PETSC_COMM_WORLD, nullptr, &context));
    PETSC_OK(surrogate_model_load_petsc(context, path.c_str(), &model));
    PETSC_OK(surrogate_domain_create_dm(context, dm, &domain));
    PETSC_OK(surrogate_plan_create_petsc(model, domain, nullptr, &plan));
    const surrogate_vec_field out = {output, nullptr, to, 0, 0};
    PETSC_OK(surrogate_plan_run_vec(plan, 0, nullptr, 1, &out));
    surrogate_plan_destroy(&plan);
    surrogate_domain_destroy(&domain);
    surrogate_model_destroy(&model);
    surrogate_context_destroy(&context);
}

/// The mean of a Vec. Collective.
inline PetscReal mean_of(Vec vec) {
    PetscScalar sum = 0;
    PetscInt n = 1;
    EXPECT_EQ(VecSum(vec, &sum), 0);
    EXPECT_EQ(VecGetSize(vec, &n), 0);
    return sum / PetscReal(n);
}

/// Returns the number of iterations in a history, which begins with the start.
inline size_t n_iteration(const std::vector<PetscReal>& history) {
    return history.size() - 1;
}

/// |a - b| / |b|. Collective.
inline PetscReal distance(Vec a, Vec b) {
    Vec difference = nullptr;
    PetscReal far = -1, norm = 0;
    EXPECT_EQ(VecDuplicate(a, &difference), 0);
    EXPECT_EQ(VecWAXPY(difference, -1, a, b), 0);
    EXPECT_EQ(VecNorm(difference, NORM_2, &far), 0);
    EXPECT_EQ(VecNorm(b, NORM_2, &norm), 0);
    EXPECT_EQ(VecDestroy(&difference), 0);
    return far / norm;
}

}  // namespace surrogate::test
