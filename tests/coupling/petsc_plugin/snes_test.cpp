// SPDX-License-Identifier: Apache-2.0
// SNES type `surrogate`: alone, first of a composite, as a nonlinear preconditioner.
#include <petscsnes.h>
#include <surrogate/surrogate_petsc.h>

#include "tests/coupling/petsc_plugin/darcy_ksp.hpp"

namespace {

using namespace surrogate::test;

const testing::Environment* const environment =
    testing::AddGlobalTestEnvironment(new PetscEnvironment);

/// u^3 - slope u = values[0] for the first component of each point, the same in v and values[1] for
/// the second.
struct Equations {
    PetscScalar slope = 0;
    PetscScalar values[2] = {8, 27};
};

PetscErrorCode cubes(SNES snes, Vec x, Vec f, void* context) {
    PetscFunctionBegin;
    const Equations& equations = *static_cast<const Equations*>(context);
    const PetscScalar* in = nullptr;
    PetscScalar* out = nullptr;
    PetscInt n = 0;
    DM dm = nullptr;
    PetscCall(SNESGetDM(snes, &dm));
    PetscCall(VecGetLocalSize(x, &n));
    PetscCall(VecGetArrayRead(x, &in));
    PetscCall(VecGetArray(f, &out));
    for (PetscInt k = 0; k < n; ++k)
        out[k] = (in[k] * in[k] - equations.slope) * in[k] - equations.values[k % 2];
    PetscCall(VecRestoreArray(f, &out));
    PetscCall(VecRestoreArrayRead(x, &in));
    PetscFunctionReturn(0);
}

PetscErrorCode slopes(SNES, Vec x, Mat, Mat matrix, void* context) {
    PetscFunctionBegin;
    Vec slope = nullptr;
    PetscCall(VecDuplicate(x, &slope));
    PetscCall(VecPointwiseMult(slope, x, x));
    PetscCall(VecScale(slope, 3));
    PetscCall(VecShift(slope, -static_cast<const Equations*>(context)->slope));
    PetscCall(MatDiagonalSet(matrix, slope, INSERT_VALUES));
    PetscCall(VecDestroy(&slope));
    PetscFunctionReturn(0);
}

/// A SNES for cubes() on a DMDA of 9 x 7 points with the fields "u" and "v", starting at 10.
class Cubes {
public:
    explicit Cubes(const Equations& equations = {}) : equations_(equations) { build(); }
    ~Cubes() {
        std::ignore = SNESDestroy(&snes);
        std::ignore = MatDestroy(&matrix);
        std::ignore = VecDestroy(&x);
        std::ignore = DMDestroy(&da);
    }
    Cubes(const Cubes&) = delete;
    Cubes& operator=(const Cubes&) = delete;

    SNESConvergedReason solve() {
        SNESConvergedReason reason = SNES_CONVERGED_ITERATING;
        EXPECT_EQ(VecSet(x, 10), 0);
        const PetscErrorCode error = SNESSolve(snes, nullptr, x);
        EXPECT_EQ(error, 0) << petsc_text(error);
        EXPECT_EQ(SNESGetConvergedReason(snes, &reason), 0);
        return reason;
    }
    /// Smallest and largest value of a component.
    std::pair<PetscReal, PetscReal> range(PetscInt component) {
        PetscReal low = 0, high = 0;
        EXPECT_EQ(VecStrideMin(x, component, nullptr, &low), 0);
        EXPECT_EQ(VecStrideMax(x, component, nullptr, &high), 0);
        return {low, high};
    }
    std::string view() {
        return printed([this](PetscViewer viewer) { return SNESView(snes, viewer); });
    }
    PetscInt n_function() {
        PetscInt n = 0;
        EXPECT_EQ(SNESGetNumberFunctionEvals(snes, &n), 0);
        return n;
    }

    DM da = nullptr;
    Mat matrix = nullptr;
    Vec x = nullptr;
    SNES snes = nullptr;

private:
    void build() {
        PETSC_OK(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE,
                              DMDA_STENCIL_STAR, 9, 7, PETSC_DECIDE, PETSC_DECIDE, 2, 1, nullptr,
                              nullptr, &da));
        PETSC_OK(DMSetUp(da));
        PETSC_OK(DMDASetUniformCoordinates(da, 0, 1, 0, 1, 0, 0));
        PETSC_OK(DMDASetFieldName(da, 0, "u"));
        PETSC_OK(DMDASetFieldName(da, 1, "v"));
        PETSC_OK(DMCreateGlobalVector(da, &x));
        PETSC_OK(DMCreateMatrix(da, &matrix));
        PETSC_OK(SNESCreate(PETSC_COMM_WORLD, &snes));
        PETSC_OK(SNESSetDM(snes, da));
        PETSC_OK(SNESSetFunction(snes, nullptr, cubes, &equations_));
        PETSC_OK(SNESSetJacobian(snes, matrix, matrix, slopes, &equations_));
        PETSC_OK(SNESSetFromOptions(snes));
    }

    Equations equations_;
};

class SnesType : public testing::Test {
protected:
    void SetUp() override { PETSC_OK(surrogate_petsc_register()); }

    static std::string model(double u, double v, bool is_constant = true) {
        return model_file("snes", small_flare({{"x", 0}, {"y", 1}, {"u"}, {"v"}},
                                              {{"u", u}, {"v", v}}, is_constant));
    }
    static OptionMap composite(const std::string& path) {
        return {{"-snes_type", "composite"},
                {"-snes_composite_type", "multiplicative"},
                {"-snes_composite_sneses", "surrogate,newtonls"},
                {"-snes_max_it", "1"},
                {"-sub_1_snes_max_it", "50"},
                {"-sub_0_surrogate_model", path},
                {"-sub_1_snes_rtol", "1e-12"}};
    }
};

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST_F(SnesType, GoodPredictionIsTheSolutionInOneStep) {
    const std::string path = model(2, 3);
    const OptionScope options(OptionMap{{"-snes_type", "surrogate"}, {"-surrogate_model", path}});
    Cubes problem;
    EXPECT_EQ(problem.solve(), SNES_CONVERGED_FNORM_ABS);
    EXPECT_NEAR(problem.range(0).first, 2, 1e-6);
    EXPECT_NEAR(problem.range(1).second, 3, 1e-6);
    EXPECT_EQ(problem.n_function(), 2);
    EXPECT_HAS(problem.view(), "asked 1, used 1, rejected 0");
}

TEST_F(SnesType, BadPredictionLeavesTheStartAndSaysThatItHasNotConverged) {
    const std::string path = model(50, 50);
    const OptionScope options(OptionMap{{"-snes_type", "surrogate"}, {"-surrogate_model", path}});
    Cubes problem;
    EXPECT_EQ(problem.solve(), SNES_DIVERGED_MAX_IT);
    for (const PetscInt component : {0, 1}) {
        EXPECT_EQ(problem.range(component).first, 10);
        EXPECT_EQ(problem.range(component).second, 10);
    }
    EXPECT_HAS(problem.view(), "used 0, rejected 1 (not better 1");
}

TEST_F(SnesType, FirstOfACompositeSavesNewtonSteps) {
    const auto n_step_from = [](const std::string& path) {
        const OptionScope options(composite(path));
        Cubes problem;
        EXPECT_GT(problem.solve(), 0);
        EXPECT_NEAR(problem.range(0).second, 2, 1e-8);
        EXPECT_NEAR(problem.range(1).first, 3, 1e-8);
        SNES newton = nullptr;
        EXPECT_EQ(SNESCompositeGetSNES(problem.snes, 1, &newton), 0);
        PetscInt n = 0;
        EXPECT_EQ(SNESGetIterationNumber(newton, &n), 0);
        return n;
    };
    const PetscInt n_good = n_step_from(model(2.01, 3.01));
    const PetscInt n_bad = n_step_from(model(50, 50));
    EXPECT_LT(n_good, n_bad);
    const OptionScope options(OptionMap{{"-snes_rtol", "1e-12"}});
    Cubes alone;
    EXPECT_GT(alone.solve(), 0);
    PetscInt n_alone = 0;
    PETSC_OK(SNESGetIterationNumber(alone.snes, &n_alone));
    EXPECT_EQ(n_bad, n_alone) << "a rejected prediction changes Newton's method";
}

TEST_F(SnesType, NonlinearPreconditioner) {
    const std::string path = model(2.01, 3.01);
    const OptionScope options(OptionMap{{"-snes_type", "nrichardson"},
                                        {"-npc_snes_type", "surrogate"},
                                        {"-npc_surrogate_model", path},
                                        {"-snes_max_it", "1"}});
    Cubes problem;
    problem.solve();
    EXPECT_LT(problem.range(0).second, 5);
    SNES inner = nullptr;
    PETSC_OK(SNESGetNPC(problem.snes, &inner));
    EXPECT_HAS(printed([&](PetscViewer viewer) { return SNESView(inner, viewer); }), "rejected 0");
}

OptionMap with_newton(const std::string& path) {
    return {{"-snes_type", "surrogate"},
            {"-surrogate_model", path},
            {"-snes_rtol", "1e-12"},
            {"-npc_snes_type", "newtonls"}};
}

TEST_F(SnesType, SolverBehindSolvesFromThePrediction) {
    const std::string path = model(2.01, 3.01);
    const OptionScope options(with_newton(path));
    Cubes problem;
    EXPECT_GT(problem.solve(), 0);
    EXPECT_NEAR(problem.range(0).second, 2, 1e-8);
    EXPECT_NEAR(problem.range(1).first, 3, 1e-8);
    PetscInt n_step = 0;
    PETSC_OK(SNESGetIterationNumber(problem.snes, &n_step));
    EXPECT_LE(n_step, 5) << "the prediction and Newton's steps";
    EXPECT_HAS(problem.view(), "asked 1, used 1, rejected 0");
    EXPECT_EQ(problem.view().find("repeated"), std::string::npos) << problem.view();
}

TEST_F(SnesType, SolveThatFailsFromAPredictionIsRepeatedFromTheStart) {
    // Newton's method from -1.2 goes to the extremum of u^3 - 3 u at -1; |F| is smaller there than
    // at the start, 10, from which the method converges.
    const Equations equations{3, {4, 4}};
    const std::string path = model(-1.2, -1.2);
    SNESConvergedReason expected = SNES_CONVERGED_ITERATING;
    Vec solution = nullptr;
    {
        const OptionScope options(OptionMap{{"-snes_rtol", "1e-12"}});
        Cubes alone(equations);
        expected = alone.solve();
        EXPECT_GT(expected, 0);
        PETSC_OK(VecDuplicate(alone.x, &solution));
        PETSC_OK(VecCopy(alone.x, solution));
    }
    const OptionScope options(with_newton(path));
    Cubes problem(equations);
    EXPECT_GT(problem.solve(), 0);
    EXPECT_LT(distance(problem.x, solution), 1e-10);
    EXPECT_HAS(problem.view(), "asked 1, used 1");
    EXPECT_HAS(problem.view(), "the solve from the prediction failed: 1");
    PETSC_OK(VecDestroy(&solution));
}

TEST_F(SnesType, SolverBehindStartsAtTheStartIfThePredictionIsRefused) {
    const std::string path = model(50, 50);
    PetscInt n_alone = 0, n_step = 0;
    SNESConvergedReason expected = SNES_CONVERGED_ITERATING;
    {
        const OptionScope options(OptionMap{{"-snes_rtol", "1e-12"}});
        Cubes alone;
        expected = alone.solve();
        PETSC_OK(SNESGetIterationNumber(alone.snes, &n_alone));
    }
    const OptionScope options(with_newton(path));
    Cubes problem;
    EXPECT_EQ(problem.solve(), expected);
    PETSC_OK(SNESGetIterationNumber(problem.snes, &n_step));
    EXPECT_EQ(n_step, n_alone);
    EXPECT_NEAR(problem.range(0).second, 2, 1e-8);
    EXPECT_HAS(problem.view(), "used 0, rejected 1 (not better 1");
}

/// F(x) = A x, for a SNES with the matrix of a KSP.
PetscErrorCode product(SNES, Vec x, Vec f, void* context) {
    PetscFunctionBegin;
    PetscCall(MatMult(static_cast<Mat>(context), x, f));
    PetscFunctionReturn(0);
}
PetscErrorCode same_matrix(SNES, Vec, Mat, Mat, void*) {
    return 0;
}
PetscErrorCode constants(DM, PetscInt, PetscInt, MatNullSpace* space) {
    return MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, nullptr, space);
}

/// Object to which the null space is attached.
enum class Holder { jacobian, dm, composed };

class NullSpaceOfSnes : public testing::TestWithParam<Holder> {
protected:
    void SetUp() override { PETSC_OK(surrogate_petsc_register()); }
};

TEST_P(NullSpaceOfSnes, PartInItIsThatOfTheStart) {
    const std::string path =
        model_file("mean", small_flare({{"x", 0}, {"y", 1}}, {{"p", 50}}, false));
    const OptionScope options(OptionMap{{"-snes_type", "surrogate"}, {"-surrogate_model", path}});
    DarcyKsp darcy;
    SNES snes = nullptr;
    SNESConvergedReason reason = SNES_CONVERGED_ITERATING;
    darcy.close_edges();
    predict(path, "p", darcy.da, darcy.x);
    PETSC_OK(MatMult(darcy.matrix, darcy.x, darcy.rhs));
    PETSC_OK(SNESCreate(PETSC_COMM_WORLD, &snes));
    if (GetParam() == Holder::composed) {
        MatNullSpace space = nullptr;
        PETSC_OK(constants(nullptr, 0, 0, &space));
        PETSC_OK(PetscObjectCompose(PetscObject(darcy.da), "nullspace", PetscObject(space)));
        PETSC_OK(MatNullSpaceDestroy(&space));
    } else if (GetParam() == Holder::dm) {
        PETSC_OK(DMSetNumFields(darcy.da, 1));
        PETSC_OK(DMSetNullSpaceConstructor(darcy.da, 0, constants));
    }
    PETSC_OK(SNESSetDM(snes, darcy.da));
    PETSC_OK(SNESSetFunction(snes, nullptr, product, darcy.matrix));
    if (GetParam() == Holder::jacobian)
        PETSC_OK(SNESSetJacobian(snes, darcy.matrix, darcy.matrix, same_matrix, nullptr));
    PETSC_OK(SNESSetFromOptions(snes));
    PETSC_OK(VecSet(darcy.x, 5));
    PETSC_OK(SNESSolve(snes, darcy.rhs, darcy.x));
    PETSC_OK(SNESGetConvergedReason(snes, &reason));
    EXPECT_GT(reason, 0);
    EXPECT_NEAR(mean_of(darcy.x), 5, 1e-6);
    PETSC_OK(SNESDestroy(&snes));
}

std::string name_of(const testing::TestParamInfo<Holder>& row) {
    constexpr const char* names[] = {"Jacobian", "Dm", "Composed"};
    return names[int(row.param)];
}
INSTANTIATE_TEST_SUITE_P(Petsc, NullSpaceOfSnes,
                         testing::Values(Holder::jacobian, Holder::dm, Holder::composed), name_of);

TEST_F(SnesType, ComponentsThatAreNotPredictedKeepTheStart) {
    const std::string path = model_file("one", small_flare({{"x", 0}, {"v"}}, {{"v", 3}}, true));
    const OptionScope options(OptionMap{{"-snes_type", "surrogate"}, {"-surrogate_model", path}});
    Cubes problem;
    problem.solve();
    EXPECT_EQ(problem.range(0).first, 10);
    EXPECT_NEAR(problem.range(1).first, 3, 1e-6);
}

TEST_F(SnesType, FieldThatTheDmLacks) {
    const std::string path = model_file("lacks", small_flare({{"x", 0}}, {{"w", 3}}, true));
    OptionMap all = {{"-snes_type", "surrogate"}, {"-surrogate_model", path}};
    {
        const OptionScope options(all);
        Cubes problem;
        const PetscErrorCode error = SNESSolve(problem.snes, nullptr, problem.x);
        EXPECT_EQ(error, PETSC_ERR_ARG_WRONG);
        EXPECT_HAS(petsc_text(error), "'w' is not a field of the DM (fields: u, v)");
    }
    all["-surrogate_fields"] = "w=v";
    const OptionScope options(all);
    Cubes problem;
    problem.solve();
    EXPECT_NEAR(problem.range(1).first, 3, 1e-6);
}

TEST_F(SnesType, TwoFieldsOfTheCardForOneComponent) {
    const std::string path = model(2, 3);
    const OptionScope options(OptionMap{{"-snes_type", "surrogate"},
                                        {"-surrogate_model", path},
                                        {"-surrogate_fields", "v=solution:0"}});
    Cubes problem;
    const PetscErrorCode error = SNESSolve(problem.snes, nullptr, problem.x);
    EXPECT_EQ(error, PETSC_ERR_ARG_WRONG);
    EXPECT_HAS(petsc_text(error), "both would be component 0");
}

TEST_F(SnesType, VelocityXAndYAreComponentsOfOneVec) {
    // Predicts 1000 times something of the velocity: equal predictions show equal inputs.
    const auto norm_of = [](bool is_one_vec) {
        const std::string path = model_file(
            "velocity", small_flare({{"velocity.y"}, {"velocity.x"}}, {{"u", 2}, {"v", 3}}, false));
        const OptionScope options(
            OptionMap{{"-snes_type", "surrogate"}, {"-surrogate_model", path}});
        Cubes problem;
        Vec both = nullptr, x = nullptr, y = nullptr;
        EXPECT_EQ(VecDuplicate(problem.x, &both), 0);
        PetscInt n = 0;
        EXPECT_EQ(VecGetLocalSize(both, &n), 0);
        EXPECT_EQ(VecCreateMPI(PETSC_COMM_WORLD, n / 2, PETSC_DETERMINE, &x), 0);
        EXPECT_EQ(VecDuplicate(x, &y), 0);
        EXPECT_EQ(VecSet(x, 0.25), 0);
        EXPECT_EQ(VecSet(y, -1), 0);
        EXPECT_EQ(VecStrideSet(both, 0, 0.25), 0);
        EXPECT_EQ(VecStrideSet(both, 1, -1), 0);
        const PetscObject holder = PetscObject(problem.snes);
        if (is_one_vec) {
            EXPECT_EQ(PetscObjectCompose(holder, "velocity", PetscObject(both)), 0);
        } else {
            EXPECT_EQ(PetscObjectCompose(holder, "velocity.x", PetscObject(x)), 0);
            EXPECT_EQ(PetscObjectCompose(holder, "velocity.y", PetscObject(y)), 0);
        }
        problem.solve();
        for (Vec* vec : {&both, &x, &y}) EXPECT_EQ(VecDestroy(vec), 0);
        const std::string text = problem.view();
        const size_t at = text.find("last:");
        EXPECT_NE(at, std::string::npos) << text;
        return text.substr(at, text.find('\n', at) - at);
    };
    EXPECT_EQ(norm_of(true), norm_of(false));
}

// ---- surrogate_plan_run_vec

TEST(PetscVec, AllComponentsUnderTheNameBeforeTheDot) {
    const std::string path = model_file(
        "vector", small_flare({{"velocity.y"}, {"velocity.x"}}, {{"w.x", 1}, {"w.y", 2}}, false));
    const Cubes cubes_problem;  // for its DM of two components
    surrogate_context* context = nullptr;
    surrogate_model* model = nullptr;
    surrogate_domain* domain = nullptr;
    surrogate_plan* plan = nullptr;
    Vec in = nullptr, whole = nullptr, single = nullptr;
    PETSC_OK(surrogate_context_create_petsc(PETSC_COMM_WORLD, nullptr, &context));
    PETSC_OK(surrogate_model_load_petsc(context, path.c_str(), &model));
    PETSC_OK(surrogate_domain_create_dm(context, cubes_problem.da, &domain));
    PETSC_OK(surrogate_plan_create_petsc(model, domain, nullptr, &plan));
    PETSC_OK(VecDuplicate(cubes_problem.x, &in));
    PETSC_OK(VecDuplicate(in, &whole));
    PETSC_OK(VecDuplicate(in, &single));
    PETSC_OK(VecStrideSet(in, 0, 0.25));
    PETSC_OK(VecStrideSet(in, 1, -1));
    const surrogate_vec_field from = {"velocity", nullptr, in, SURROGATE_ALL_COMPONENTS, 0};
    const surrogate_vec_field to = {"w", nullptr, whole, SURROGATE_ALL_COMPONENTS, 0};
    PETSC_OK(surrogate_plan_run_vec(plan, 1, &from, 1, &to));
    const surrogate_vec_field froms[] = {{"velocity.x", nullptr, in, 0, 0},
                                         {"velocity.y", nullptr, in, 1, 0}};
    const surrogate_vec_field tos[] = {{"w.x", nullptr, single, 0, 0},
                                       {"w.y", nullptr, single, 1, 0}};
    PETSC_OK(surrogate_plan_run_vec(plan, 2, froms, 2, tos));
    PetscBool is_equal = PETSC_FALSE;
    PETSC_OK(VecEqual(whole, single, &is_equal));
    EXPECT_TRUE(is_equal);
    PETSC_OK(surrogate_plan_run_vec(plan, 1, &from, 1, &to));
    PetscReal far = 0;
    PETSC_OK(VecNorm(whole, NORM_INFINITY, &far));
    EXPECT_GT(far, 2.5) << "only the means were predicted";
    for (Vec* vec : {&in, &whole, &single}) PETSC_OK(VecDestroy(vec));
    surrogate_plan_destroy(&plan);
    surrogate_domain_destroy(&domain);
    surrogate_model_destroy(&model);
    surrogate_context_destroy(&context);
}

}  // namespace
