// SPDX-License-Identifier: Apache-2.0
// The Jacobian of a plan as a Mat: products agree with each other and with differences of
// predictions, and what is wrong with a Vec.
#include <petscksp.h>

#include <algorithm>
#include <limits>

#include "tests/coupling/petsc/petsc_planned.hpp"

namespace {

using namespace surrogate::test;

/// A model planned with gradients, and its Jacobian.
class PlannedMat : public Planned {
public:
    explicit PlannedMat(const char* gradients = "inputs") {
        surrogate_plan_destroy(&plan);
        surrogate_options* options = nullptr;
        EXPECT_EQ(surrogate_options_create(&options), SURROGATE_SUCCESS);
        EXPECT_EQ(surrogate_options_set(options, "gradients", gradients), SURROGATE_SUCCESS);
        EXPECT_EQ(surrogate_plan_create(model, domain, nullptr, options, &plan), SURROGATE_SUCCESS);
        surrogate_options_destroy(&options);
    }
    ~PlannedMat() { std::ignore = MatDestroy(&jacobian); }

    PetscErrorCode create() { return create(input(), output()); }
    PetscErrorCode create(const surrogate_vec_field& from, const surrogate_vec_field& to) {
        return surrogate_plan_create_mat(plan, 1, &from, 1, &to, &jacobian);
    }

    Mat jacobian = nullptr;
};

/// Sets numbers that depend on the global index, not on the ranks.
void fill_wave(Vec vec, double phase) {
    PetscInt begin = 0, end = 0;
    PETSC_OK(VecGetOwnershipRange(vec, &begin, &end));
    for (PetscInt i = begin; i < end; ++i)
        PETSC_OK(VecSetValue(vec, i, std::sin(1.7 * double(i) + phase), INSERT_VALUES));
    PETSC_OK(VecAssemblyBegin(vec));
    PETSC_OK(VecAssemblyEnd(vec));
}

/// <w, J v> and <J^T w, v>
struct Products {
    PetscScalar forward = 0, backward = 0;
};

void multiply(Mat jacobian, Products* products) {
    Vec v = nullptr, w = nullptr, y = nullptr, g = nullptr;
    PETSC_OK(MatCreateVecs(jacobian, &v, &w));
    PETSC_OK(VecDuplicate(w, &y));
    PETSC_OK(VecDuplicate(v, &g));
    fill_wave(v, 0.3);
    fill_wave(w, 1.1);
    PETSC_OK(MatMult(jacobian, v, y));
    PETSC_OK(MatMultTranspose(jacobian, w, g));
    PETSC_OK(VecDot(w, y, &products->forward));
    PETSC_OK(VecDot(v, g, &products->backward));
    for (Vec* const vec : {&v, &w, &y, &g}) PETSC_OK(VecDestroy(vec));
}

Products products_of(Mat jacobian) {
    Products products;
    multiply(jacobian, &products);
    return products;
}

TEST(PetscMat, ProductsAgree) {
    PlannedMat planned;
    PETSC_OK(planned.create());
    const Products products = products_of(planned.jacobian);
    EXPECT_GT(std::abs(products.backward), 1e-5);
    EXPECT_NEAR(products.forward, products.backward, 1e-4 * std::abs(products.backward));
}

TEST(PetscMat, IsTheSlopeOfPredictions) {
    PlannedMat planned;
    PETSC_OK(planned.create());
    Vec v = nullptr, y = nullptr, moved = nullptr;
    PETSC_OK(VecDuplicate(planned.in, &v));
    PETSC_OK(VecDuplicate(planned.out, &y));
    PETSC_OK(VecDuplicate(planned.out, &moved));
    fill_wave(v, 0.3);
    PETSC_OK(MatMult(planned.jacobian, v, y));
    const double h = 0.05;  // of mobilities of 3 to 12, in single precision
    PETSC_OK(VecAXPY(planned.in, h, v));
    PETSC_OK(planned.run(planned.input(), {"pressure", "Pa", moved, 0, 0}));
    PETSC_OK(VecAXPY(planned.in, -2 * h, v));
    PETSC_OK(planned.run(planned.input(), planned.output()));
    PETSC_OK(VecAXPY(moved, -1, planned.out));
    PETSC_OK(VecScale(moved, 1 / (2 * h)));
    PetscReal size = 0, error = 0;
    PETSC_OK(VecNorm(moved, NORM_2, &size));
    PETSC_OK(VecAXPY(moved, -1, y));
    PETSC_OK(VecNorm(moved, NORM_2, &error));
    EXPECT_GT(size, 0);
    EXPECT_LE(error, 2e-3 * size);
    for (Vec* const vec : {&v, &y, &moved}) PETSC_OK(VecDestroy(vec));
}

TEST(PetscMat, FollowsItsVecs) {
    PlannedMat planned;
    PETSC_OK(planned.create());
    const Products before = products_of(planned.jacobian);
    PETSC_OK(VecScale(planned.in, 0.7));
    const Products after = products_of(planned.jacobian);
    EXPECT_NE(before.forward, after.forward);
    EXPECT_NEAR(after.forward, after.backward, 1e-4 * std::abs(after.backward));
}

/// Components that are no field of the model are zero rows and columns.
TEST(PetscMat, TakesInterlacedVecs) {
    PlannedMat planned;
    DM wide = nullptr;
    Vec state = nullptr;
    make_da(PETSC_COMM_WORLD, 3, &wide);
    PETSC_OK(DMCreateGlobalVector(wide, &state));
    PETSC_OK(VecSet(state, untouched));
    fill(wide, state, 1, 3);
    PETSC_OK(
        planned.create({"mobility", "m^2/(Pa s)", state, 1, 0}, {"pressure", "Pa", state, 2, 0}));
    const Products products = products_of(planned.jacobian);
    EXPECT_GT(std::abs(products.backward), 1e-5);
    EXPECT_NEAR(products.forward, products.backward, 1e-4 * std::abs(products.backward));
    Vec v = nullptr, y = nullptr;
    PETSC_OK(MatCreateVecs(planned.jacobian, &v, &y));
    PETSC_OK(VecSet(v, 1));
    PETSC_OK(MatMult(planned.jacobian, v, y));
    for (const PetscScalar value : values_of(y, 0, 3)) EXPECT_EQ(value, 0);
    for (const PetscScalar value : values_of(y, 1, 3)) EXPECT_EQ(value, 0);
    for (const PetscScalar value : values_of(state, 0, 3)) EXPECT_EQ(value, untouched);
    for (const PetscScalar value : values_of(state, 2, 3)) EXPECT_EQ(value, untouched);
    PETSC_OK(VecDestroy(&v));
    PETSC_OK(VecDestroy(&y));
    PETSC_OK(VecDestroy(&state));
    PETSC_OK(DMDestroy(&wide));
}

/// Least squares with a term that keeps the solution small: KSPCGNE needs both products.
TEST(PetscMat, ServesAKrylovSolver) {
    PlannedMat planned;
    PETSC_OK(planned.create());
    Vec v = nullptr, y = nullptr, found = nullptr;
    PETSC_OK(MatCreateVecs(planned.jacobian, &v, &y));
    PETSC_OK(VecDuplicate(v, &found));
    fill_wave(v, 0.3);
    PETSC_OK(MatMult(planned.jacobian, v, y));
    KSP ksp = nullptr;
    PC pc = nullptr;
    PETSC_OK(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PETSC_OK(KSPSetOperators(ksp, planned.jacobian, planned.jacobian));
    PETSC_OK(KSPSetType(ksp, KSPLSQR));
    PETSC_OK(KSPGetPC(ksp, &pc));
    PETSC_OK(PCSetType(pc, PCNONE));
    PETSC_OK(KSPSetTolerances(ksp, 1e-3, PETSC_DEFAULT, PETSC_DEFAULT, 60));
    PETSC_OK(KSPSolve(ksp, y, found));
    Vec predicted = nullptr;
    PetscReal size = 0, error = 0;
    PETSC_OK(VecDuplicate(y, &predicted));
    PETSC_OK(MatMult(planned.jacobian, found, predicted));
    PETSC_OK(VecNorm(y, NORM_2, &size));
    PETSC_OK(VecAXPY(predicted, -1, y));
    PETSC_OK(VecNorm(predicted, NORM_2, &error));
    EXPECT_LE(error, 0.05 * size);
    PETSC_OK(KSPDestroy(&ksp));
    for (Vec* const vec : {&v, &y, &found, &predicted}) PETSC_OK(VecDestroy(vec));
}

/// A run and a backward run on Vecs are a product with the transposed Mat. After an error of a Vec
/// on one rank, all ranks may try again.
TEST(PetscMat, IsTheBackwardRunOnVecs) {
    PlannedMat planned;
    PETSC_OK(planned.create());
    Vec w = nullptr, g = nullptr, expected = nullptr, small = nullptr;
    PETSC_OK(MatCreateVecs(planned.jacobian, &g, &w));
    PETSC_OK(VecDuplicate(g, &expected));
    fill_wave(w, 1.1);
    PETSC_OK(MatMultTranspose(planned.jacobian, w, expected));
    const surrogate_vec_field weights = {"pressure", "Pa", w, 0, 1};
    const surrogate_vec_field gradient = {"mobility", "m^2/(Pa s)", g, 0, 1};
    surrogate_vec_field wrong = gradient;
    PETSC_OK(VecCreateMPI(PETSC_COMM_WORLD, 3, PETSC_DETERMINE, &small));
    if (world_rank() == 0) wrong.vec = small;
    PETSC_OK(VecSet(g, untouched));
    PETSC_OK(planned.run(planned.input(), planned.output()));
    PetscErrorCode error = surrogate_plan_run_backward_vec(planned.plan, 1, &weights, 1, &wrong);
    EXPECT_EQ(error, PETSC_ERR_ARG_SIZ) << petsc_text(error);
    for (const PetscScalar value : values_of(g, 0, 1)) EXPECT_EQ(value, untouched);
    PETSC_OK(surrogate_plan_run_backward_vec(planned.plan, 1, &weights, 1, &gradient));
    PetscBool is_equal = PETSC_FALSE;
    PETSC_OK(VecEqual(g, expected, &is_equal));
    EXPECT_TRUE(is_equal);
    error = surrogate_plan_run_backward_vec(planned.plan, 1, &weights, 1, &gradient);
    EXPECT_NE(petsc_text(error).find("call surrogate_plan_run first"), std::string::npos);
    for (Vec* const vec : {&w, &g, &expected, &small}) PETSC_OK(VecDestroy(vec));
}

// ---- errors: every rank returns one, no rank waits, and the next product is exact

TEST(PetscMat, ErrorOfOneRankIsAnErrorOfAll) {
    PlannedMat planned;
    PETSC_OK(planned.create());
    const Products expected = products_of(planned.jacobian);
    Vec v = nullptr, y = nullptr;
    PETSC_OK(MatCreateVecs(planned.jacobian, &v, &y));
    PETSC_OK(VecSet(v, 1));
    PetscScalar* data = nullptr;
    PETSC_OK(VecGetArray(v, &data));
    if (world_rank() == 0) data[1] = std::numeric_limits<double>::quiet_NaN();
    PETSC_OK(VecRestoreArray(v, &data));
    for (const bool is_transposed : {false, true}) {
        const PetscErrorCode error = is_transposed ? MatMultTranspose(planned.jacobian, v, y)
                                                   : MatMult(planned.jacobian, v, y);
        EXPECT_EQ(error, PETSC_ERR_FP) << petsc_text(error);
        if (world_rank() == 0) {
            EXPECT_NE(petsc_text(error).find(is_transposed ? "the gradient of output 'pressure'"
                                                           : "the tangent of input 'mobility'"),
                      std::string::npos)
                << petsc_text(error);
        }
    }
    EXPECT_EQ(products_of(planned.jacobian).forward, expected.forward);
    PETSC_OK(VecDestroy(&v));
    PETSC_OK(VecDestroy(&y));
}

TEST(PetscMat, WrongPlansAndLists) {
    PlannedMat without("true");
    PetscErrorCode error = without.create();
    EXPECT_EQ(error, PETSC_ERR_ARG_WRONG) << petsc_text(error);
    EXPECT_NE(petsc_text(error).find("gradients=inputs"), std::string::npos) << petsc_text(error);
    PlannedMat planned;
    const surrogate_vec_field in = planned.input();
    error = surrogate_plan_create_mat(planned.plan, 1, &in, 0, &in, &planned.jacobian);
    EXPECT_EQ(error, PETSC_ERR_ARG_OUTOFRANGE) << petsc_text(error);
    surrogate_vec_field other = planned.output();
    other.name = "temperature";
    PETSC_OK(planned.create(planned.input(), other));
    Vec v = nullptr, y = nullptr;
    PETSC_OK(MatCreateVecs(planned.jacobian, &v, &y));
    PETSC_OK(VecSet(v, 1));
    error = MatMult(planned.jacobian, v, y);
    EXPECT_EQ(error, PETSC_ERR_ARG_WRONG) << petsc_text(error);
    EXPECT_NE(petsc_text(error).find("temperature"), std::string::npos) << petsc_text(error);
    PETSC_OK(VecDestroy(&v));
    PETSC_OK(VecDestroy(&y));
}

}  // namespace
