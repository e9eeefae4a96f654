// SPDX-License-Identifier: Apache-2.0
// surrogate_petsc.h on ranks: options, domains of a DM, errors and the log.
#include <petscdmshell.h>
#include <surrogate/surrogate_mpi.h>

#include <algorithm>
#include <utility>

#include "tests/coupling/petsc/petsc_planned.hpp"

namespace {

using namespace surrogate::test;

[[maybe_unused]] const auto* const environment =
    testing::AddGlobalTestEnvironment(new PetscEnvironment);

// ---- options

class PetscOptionsTest : public testing::Test {
protected:
    void SetUp() override {
        PETSC_OK(PetscOptionsCreate(&own_));
        PETSC_OK(PetscOptionsPush(own_));
    }
    void TearDown() override {
        PETSC_OK(PetscOptionsPop());
        PETSC_OK(PetscOptionsDestroy(&own_));
    }
    PetscOptions own_ = nullptr;
};

TEST_F(PetscOptionsTest, DatabaseDecidesHowThePlanComputes) {
    PETSC_OK(PetscOptionsInsertString(
        nullptr,
        "-surrogate_backend ref -surrogate_precision fp64 -surrogate_threads 1 "
        "-surrogate_reproducible -surrogate_check_finite false"));
    Planned planned;
    for (const auto& [key, expected] : {std::pair{"backend", "ref"},
                                        {"precision", "fp64"},
                                        {"threads", "1"},
                                        {"reproducible", "true"},
                                        {"check_finite", "false"}}) {
        char value[32] = "";
        int64_t size = sizeof value;
        ASSERT_EQ(surrogate_plan_option(planned.plan, key, value, &size), SURROGATE_SUCCESS);
        EXPECT_STREQ(value, expected) << key;
    }
}

TEST_F(PetscOptionsTest, PrefixSelects) {
    PETSC_OK(PetscOptionsInsertString(nullptr, "-surrogate_threads 2 -flow_surrogate_threads 1"));
    surrogate_context* flow = nullptr;
    PETSC_OK(surrogate_context_create_petsc(PETSC_COMM_WORLD, "flow_", &flow));
    PetscBool used_with = PETSC_FALSE, used_without = PETSC_TRUE;  // what -options_left goes by
    PETSC_OK(PetscOptionsUsed(nullptr, "flow_surrogate_threads", &used_with));
    PETSC_OK(PetscOptionsUsed(nullptr, "surrogate_threads", &used_without));
    EXPECT_TRUE(used_with);
    EXPECT_FALSE(used_without);
    surrogate_context_destroy(&flow);
}

TEST_F(PetscOptionsTest, ValueThatDoesNotExistIsAnErrorWithTheLibrarysText) {
    PETSC_OK(PetscOptionsInsertString(nullptr, "-surrogate_precision fp23"));
    surrogate_context* context = nullptr;
    const PetscErrorCode error =
        surrogate_context_create_petsc(PETSC_COMM_WORLD, nullptr, &context);
    EXPECT_EQ(error, PETSC_ERR_ARG_WRONG) << petsc_text(error);
    EXPECT_NE(petsc_text(error).find("fp23"), std::string::npos) << petsc_text(error);
    EXPECT_EQ(context, nullptr);
}

// ---- domains

TEST(PetscDomain, HasTheOwnedPointsAtTheCoordinatesOfTheDm) {
    Planned planned;
    int64_t n_local = 0, n_global = 0;
    PetscInt n_vec = 0;
    ASSERT_EQ(surrogate_domain_n_points(planned.domain, &n_local, &n_global), SURROGATE_SUCCESS);
    PETSC_OK(VecGetLocalSize(planned.in, &n_vec));
    EXPECT_EQ(n_local, n_vec);
    EXPECT_EQ(n_global, n_x * n_y);

    // The same points by hand: the same prediction.
    PetscInt x = 0, y = 0, width = 0, height = 0;
    PETSC_OK(DMDAGetCorners(planned.da, &x, &y, nullptr, &width, &height, nullptr));
    std::vector<double> points;
    for (PetscInt j = y; j < y + height; ++j)
        for (PetscInt i = x; i < x + width; ++i)
            points.insert(points.end(), {(double(i) + 0.5) / n_x, (double(j) + 0.5) / n_y});
    const surrogate_points given = {
        {points.data(), {n_local, 2}, {2, 1}, SURROGATE_FLOAT64, SURROGATE_HOST},
        nullptr,
        nullptr,
        nullptr};
    surrogate_domain* domain = nullptr;
    surrogate_plan* plan = nullptr;
    const std::vector<PetscScalar> expected = planned.predict();
    ASSERT_EQ(surrogate_domain_create_points(planned.context, &given, &domain), SURROGATE_SUCCESS);
    PETSC_OK(surrogate_plan_create_petsc(planned.model, domain, nullptr, &plan));
    const surrogate_vec_field in = planned.input(), out = planned.output();
    PETSC_OK(VecSet(planned.out, untouched));
    PETSC_OK(surrogate_plan_run_vec(plan, 1, &in, 1, &out));
    const std::vector<PetscScalar> found = values_of(planned.out);
    ASSERT_EQ(found.size(), expected.size());
    for (size_t k = 0; k < found.size(); ++k)
        EXPECT_NEAR(found[k], expected[k], 1e-6 * std::abs(expected[k]) + 1e-9);
    surrogate_plan_destroy(&plan);
    surrogate_domain_destroy(&domain);
}

TEST(PetscDomain, ReproduciblePredictionHasTheBitsOfOneRank) {
    Planned together(PETSC_COMM_WORLD, true), alone(PETSC_COMM_SELF, true);
    const std::vector<PetscScalar> found = together.predict(), expected = alone.predict();
    PetscInt x = 0, y = 0, width = 0, height = 0;
    PETSC_OK(DMDAGetCorners(together.da, &x, &y, nullptr, &width, &height, nullptr));
    ASSERT_EQ(found.size(), static_cast<size_t>(width * height));
    for (PetscInt j = 0; j < height; ++j)
        for (PetscInt i = 0; i < width; ++i)
            EXPECT_EQ(found[static_cast<size_t>(j * width + i)],
                      expected[static_cast<size_t>((y + j) * n_x + x + i)])
                << "cell " << x + i << ", " << y + j;
}

TEST(PetscDomain, NaturalNumbersOrderPointsWithEqualCoordinates) {
    DM da = nullptr;
    make_da(PETSC_COMM_WORLD, 1, &da);
    Vec coordinates = nullptr;
    PETSC_OK(DMGetCoordinates(da, &coordinates));
    PETSC_OK(VecSet(coordinates, 0.5));  // without ids the reproducible mode rejects them
    PETSC_OK(PetscOptionsSetValue(nullptr, "-surrogate_reproducible", nullptr));
    surrogate_context* context = nullptr;
    surrogate_model* model = nullptr;
    surrogate_domain* domain = nullptr;
    surrogate_plan* plan = nullptr;
    PETSC_OK(surrogate_context_create_petsc(PETSC_COMM_WORLD, nullptr, &context));
    PETSC_OK(PetscOptionsClearValue(nullptr, "-surrogate_reproducible"));
    PETSC_OK(surrogate_model_load_petsc(context, model_path, &model));
    PETSC_OK(surrogate_domain_create_dm(context, da, &domain));
    PETSC_OK(surrogate_plan_create_petsc(model, domain, nullptr, &plan));
    surrogate_plan_destroy(&plan);
    surrogate_domain_destroy(&domain);
    surrogate_model_destroy(&model);
    surrogate_context_destroy(&context);
    PETSC_OK(DMDestroy(&da));
}

TEST(PetscDomain, DmWithoutCoordinatesOrOfAnotherTypeOrCommunicatorIsRefused) {
    Planned planned;
    surrogate_domain* domain = nullptr;
    DM bare = nullptr, shell = nullptr, lonely = nullptr;
    PETSC_OK(DMDACreate1d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, 8, 1, 1, nullptr, &bare));
    PETSC_OK(DMSetUp(bare));
    PetscErrorCode error = surrogate_domain_create_dm(planned.context, bare, &domain);
    EXPECT_EQ(error, PETSC_ERR_ARG_WRONGSTATE);
    EXPECT_NE(petsc_text(error).find("no coordinates"), std::string::npos) << petsc_text(error);

    PETSC_OK(DMShellCreate(PETSC_COMM_WORLD, &shell));
    error = surrogate_domain_create_dm(planned.context, shell, &domain);
    EXPECT_EQ(error, PETSC_ERR_SUP);
    EXPECT_NE(petsc_text(error).find("shell"), std::string::npos) << petsc_text(error);

    make_da(PETSC_COMM_SELF, 1, &lonely);
    error = surrogate_domain_create_dm(planned.context, lonely, &domain);
    EXPECT_EQ(error, world_size() > 1 ? PETSC_ERR_ARG_NOTSAMECOMM : 0);
    surrogate_domain_destroy(&domain);
    PETSC_OK(DMDestroy(&bare));
    PETSC_OK(DMDestroy(&shell));
    PETSC_OK(DMDestroy(&lonely));
}

TEST(PetscModel, MissingFileIsAFileError) {
    surrogate_context* context = nullptr;
    surrogate_model* model = nullptr;
    PETSC_OK(surrogate_context_create_petsc(PETSC_COMM_WORLD, nullptr, &context));
    const PetscErrorCode error =
        surrogate_model_load_petsc(context, "/nonexistent/m.safetensors", &model);
    EXPECT_EQ(error, PETSC_ERR_FILE_OPEN);
    EXPECT_NE(petsc_text(error).find("m.safetensors"), std::string::npos) << petsc_text(error);
    surrogate_context_destroy(&context);
}

// ---- errors are PETSc errors, once; events are in the log

PetscErrorCode count_error(MPI_Comm, int, const char*, const char*, PetscErrorCode code,
                           PetscErrorType type, const char*, void* user) {
    if (type == PETSC_ERROR_INITIAL) ++*static_cast<int*>(user);
    return code;
}

TEST(PetscErrors, AreRaisedOnce) {
    Planned planned;
    int n_raised = 0;
    PETSC_OK(PetscPushErrorHandler(count_error, &n_raised));
    std::ignore = planned.run({"mobilty", nullptr, planned.in, 0, 0}, planned.output());
    EXPECT_EQ(n_raised, 1);
    std::ignore = planned.run({"mobility", nullptr, planned.in, 3, 0}, planned.output());
    EXPECT_EQ(n_raised, 2);
    PETSC_OK(PetscPopErrorHandler());
}

TEST(PetscErrors, EveryStatusHasACode) {
    EXPECT_EQ(surrogate_petsc_error_code(SURROGATE_SUCCESS), 0);
    for (surrogate_status status = SURROGATE_INVALID_ARGUMENT; status <= SURROGATE_INTERNAL;
         ++status)
        EXPECT_NE(surrogate_petsc_error_code(status), 0) << surrogate_status_name(status);
}

int n_logged(const char* name) {
    PetscLogEvent event = -1;
    PetscEventPerfInfo info{};
    if (PetscLogEventGetId(name, &event) || event < 0) return -1;
    if (PetscLogEventGetPerfInfo(0, event, &info)) return -1;
    return info.count;
}

TEST(PetscLog, ShowsPlanningAndRuns) {
    PETSC_OK(PetscLogDefaultBegin());
    Planned planned;
    const int n_plan = n_logged("SurrPlan"), n_run = n_logged("SurrRun");
    EXPECT_GE(n_plan, 3);  // model, domain, plan
    planned.predict();
    planned.predict();
    std::ignore = planned.run({"mobilty", nullptr, planned.in, 0, 0}, planned.output());
    EXPECT_EQ(n_logged("SurrRun"), std::max(n_run, 0) + 3) << "a failed run ends its event, too";
    EXPECT_EQ(n_logged("SurrPlan"), n_plan);
}

}  // namespace
