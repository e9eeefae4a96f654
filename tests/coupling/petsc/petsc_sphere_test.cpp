// SPDX-License-Identifier: Apache-2.0
// Domains on the sphere from a DMDA, and predictions in interlaced vectors: the same as from the
// library's own domain.
#include <surrogate/surrogate_mpi.h>

#include <cmath>
#include <numbers>
#include <surrogate/surrogate.hpp>

#include "tests/coupling/petsc/petsc_planned.hpp"

namespace {

using namespace surrogate::test;

[[maybe_unused]] const auto* const environment =
    testing::AddGlobalTestEnvironment(new PetscEnvironment);

constexpr const char* sphere_model = SURROGATE_SHARE "/models/shallow_water.safetensors";
constexpr const char* names[] = {"geopotential", "vorticity", "divergence"};
constexpr PetscInt n_lat = 64, n_lon = 128, n_field = 3;

/// Smooth, and within the ranges of the card. Row and column as the model counts them.
double value_of(int field, PetscInt row, PetscInt col) {
    const double y = std::numbers::pi * (double(row) + 0.5) / n_lat;
    const double x = 2 * std::numbers::pi * double(col) / n_lon;
    if (field == 0) return 95000 - 4000 * std::cos(2 * y) + 500 * std::sin(3 * x) * std::sin(y);
    if (field == 1) return 2e-5 * std::cos(y) + 3e-5 * std::cos(2 * x + 1) * std::sin(y);
    return 2e-6 * std::sin(4 * x) * std::sin(y) * std::sin(2 * y);
}

/// Layout of the sphere in a DMDA.
struct Form {
    bool is_south_first = false;
    bool has_coordinates = false;
    double first_longitude = 0;  ///< with coordinates; a whole number of columns
    PetscInt n_rank_column = 1;  ///< ranks along longitude

    PetscInt row(PetscInt y) const { return is_south_first ? n_lat - 1 - y : y; }
    PetscInt col(PetscInt x) const {
        const auto shift = std::llround(first_longitude / 360 * n_lon);
        return (x + PetscInt(shift) + n_lon) % n_lon;
    }
};

void set_coordinates(DM da, const Form& form) {
    std::vector<double> lat(n_lat);
    ASSERT_EQ(surrogate_sphere_nodes("legendre-gauss", n_lat, n_lon, lat.data(), nullptr, nullptr),
              SURROGATE_SUCCESS);
    PETSC_OK(DMDASetUniformCoordinates(da, form.first_longitude, form.first_longitude + 360, 0, 1,
                                       0, 0));
    Vec coordinates = nullptr;
    PetscScalar* x = nullptr;
    PetscInt first = 0, width = 0, height = 0;
    PETSC_OK(DMGetCoordinates(da, &coordinates));
    PETSC_OK(DMDAGetCorners(da, nullptr, &first, nullptr, &width, &height, nullptr));
    PETSC_OK(VecGetArray(coordinates, &x));
    for (PetscInt p = 0; p < width * height; ++p)
        x[2 * p + 1] = lat[static_cast<size_t>(form.row(first + p / width))];
    PETSC_OK(VecRestoreArray(coordinates, &x));
}

void make_sphere(const Form& form, DM* da) {
    PETSC_OK(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_PERIODIC, DM_BOUNDARY_NONE,
                          DMDA_STENCIL_STAR, n_lon, n_lat, form.n_rank_column, PETSC_DECIDE,
                          n_field, 1, nullptr, nullptr, da));
    PETSC_OK(DMSetUp(*da));
    if (form.has_coordinates) set_coordinates(*da, form);
}

/// Calls work(row, col, first number of the point in the array of a global vector).
template <class Work>
void for_points(DM da, const Form& form, Work&& work) {
    PetscInt x = 0, y = 0, width = 0, height = 0;
    PETSC_OK(DMDAGetCorners(da, &x, &y, nullptr, &width, &height, nullptr));
    for (PetscInt j = 0; j < height; ++j)
        for (PetscInt i = 0; i < width; ++i)
            work(form.row(y + j), form.col(x + i), n_field * (j * width + i));
}

/// The library's own prediction on one rank, [field][row][col].
std::vector<std::vector<double>> direct(bool reproducible) {
    std::vector<std::vector<double>> in(n_field), out(n_field, std::vector<double>(n_lat * n_lon));
    surrogate::Options options{{"reproducible", reproducible ? "true" : "false"}};
    surrogate::Context context(options);
    surrogate::Model model(context, sphere_model);
    surrogate_sphere sphere{};
    sphere.grid = "legendre-gauss";
    sphere.n_lat = sphere.n_lat_local = n_lat;
    sphere.n_lon = sphere.n_lon_local = n_lon;
    surrogate::Plan plan(model, surrogate::Domain(context, sphere));
    for (int f = 0; f < n_field; ++f) {
        const auto k = static_cast<size_t>(f);
        for (PetscInt i = 0; i < n_lat; ++i)
            for (PetscInt j = 0; j < n_lon; ++j) in[k].push_back(value_of(f, i, j));
        plan.bind_input(names[f], surrogate::column(in[k].data(), n_lat * n_lon));
        plan.bind_output(names[f], surrogate::column(out[k].data(), n_lat * n_lon));
    }
    plan.run();
    return out;
}

/// The prediction through the DMDA differs from `wanted` by at most `bound` of each field's largest
/// value.
void expect_prediction(const Form& form, bool reproducible,
                       const std::vector<std::vector<double>>& wanted, double bound) {
    DM da = nullptr;
    Vec in = nullptr, out = nullptr;
    surrogate_context* context = nullptr;
    surrogate_model* model = nullptr;
    surrogate_domain* domain = nullptr;
    surrogate_plan* plan = nullptr;
    make_sphere(form, &da);
    if (reproducible) PETSC_OK(PetscOptionsSetValue(nullptr, "-surrogate_reproducible", nullptr));
    PETSC_OK(surrogate_context_create_petsc(PETSC_COMM_WORLD, nullptr, &context));
    if (reproducible) PETSC_OK(PetscOptionsClearValue(nullptr, "-surrogate_reproducible"));
    PETSC_OK(surrogate_model_load_petsc(context, sphere_model, &model));
    PETSC_OK(surrogate_domain_create_dm_sphere(
        context, da, "legendre-gauss", form.is_south_first ? PETSC_TRUE : PETSC_FALSE, &domain));
    PETSC_OK(surrogate_plan_create_petsc(model, domain, nullptr, &plan));
    PETSC_OK(DMCreateGlobalVector(da, &in));
    PETSC_OK(VecDuplicate(in, &out));
    PetscScalar* x = nullptr;
    PETSC_OK(VecGetArray(in, &x));
    for_points(da, form, [&](PetscInt row, PetscInt col, PetscInt at) {
        for (int f = 0; f < n_field; ++f) x[at + f] = value_of(f, row, col);
    });
    PETSC_OK(VecRestoreArray(in, &x));
    surrogate_vec_field from[n_field], to[n_field];
    for (int f = 0; f < n_field; ++f) {
        from[f] = {names[f], nullptr, in, f, 0};
        to[f] = {names[f], nullptr, out, f, 0};
    }
    PETSC_OK(surrogate_plan_run_vec(plan, n_field, from, n_field, to));
    double scale[n_field] = {}, error[n_field] = {};
    for (size_t f = 0; f < n_field; ++f)
        for (const double value : wanted[f]) scale[f] = std::max(scale[f], std::abs(value));
    PETSC_OK(VecGetArray(out, &x));
    for_points(da, form, [&](PetscInt row, PetscInt col, PetscInt at) {
        for (size_t f = 0; f < n_field; ++f) {
            const double y = wanted[f][static_cast<size_t>(row * n_lon + col)];
            const double difference = std::abs(x[at + PetscInt(f)] - y) / scale[f];
            if (!(difference <= error[f])) error[f] = difference;  // NaN too
        }
    });
    PETSC_OK(VecRestoreArray(out, &x));
    for (int f = 0; f < n_field; ++f) EXPECT_LE(error[f], bound) << names[f];
    surrogate_plan_destroy(&plan);
    surrogate_domain_destroy(&domain);
    surrogate_model_destroy(&model);
    surrogate_context_destroy(&context);
    PETSC_OK(VecDestroy(&in));
    PETSC_OK(VecDestroy(&out));
    PETSC_OK(DMDestroy(&da));
}

std::vector<Form> forms() {
    std::vector<Form> list = {
        {},
        {.is_south_first = true},
        {.has_coordinates = true},
        {.is_south_first = true, .has_coordinates = true, .first_longitude = -180},
        {.has_coordinates = true, .first_longitude = 360.0 / n_lon * 5},
    };
    if (world_size() % 2 == 0) {  // blocks
        list.push_back({.n_rank_column = 2});
        list.push_back({.is_south_first = true,
                        .has_coordinates = true,
                        .first_longitude = -90,
                        .n_rank_column = 2});
    }
    return list;
}

TEST(PetscSphere, InterlacedVectorsOfADmPredictWhatTheLibraryPredicts) {
    const auto wanted = direct(false);
    for (const Form& form : forms()) expect_prediction(form, false, wanted, 1e-5);
}

TEST(PetscSphere, ReproduciblePredictionHasTheBitsOfOneRank) {
    const auto wanted = direct(true);
    for (const Form& form : forms()) expect_prediction(form, true, wanted, 0);
}

// ---- errors

class PetscSphereError : public testing::Test {
protected:
    void SetUp() override {
        PETSC_OK(surrogate_context_create_petsc(PETSC_COMM_WORLD, nullptr, &context_));
    }
    void TearDown() override {
        surrogate_context_destroy(&context_);
        PETSC_OK(DMDestroy(&da_));
    }
    void expect(const char* grid, PetscErrorCode code, const std::string& text) {
        surrogate_domain* domain = nullptr;
        const PetscErrorCode error =
            surrogate_domain_create_dm_sphere(context_, da_, grid, PETSC_FALSE, &domain);
        EXPECT_EQ(error, code) << petsc_text(error);
        EXPECT_NE(petsc_text(error).find(text), std::string::npos) << petsc_text(error);
        EXPECT_EQ(domain, nullptr);
    }
    void make_plane(MPI_Comm comm, DMBoundaryType east, DMBoundaryType north) {
        PETSC_OK(DMDACreate2d(comm, east, north, DMDA_STENCIL_STAR, 16, 8, PETSC_DECIDE,
                              PETSC_DECIDE, 1, 1, nullptr, nullptr, &da_));
        PETSC_OK(DMSetUp(da_));
    }
    surrogate_context* context_ = nullptr;
    DM da_ = nullptr;
};

TEST_F(PetscSphereError, NotPeriodicInLongitudeAlone) {
    make_plane(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE);
    expect("equiangular", PETSC_ERR_ARG_INCOMP, "periodic in x");
    PETSC_OK(DMDestroy(&da_));
    make_plane(PETSC_COMM_WORLD, DM_BOUNDARY_PERIODIC, DM_BOUNDARY_PERIODIC);
    expect("equiangular", PETSC_ERR_ARG_INCOMP, "periodic in x");
}

TEST_F(PetscSphereError, ThreeDimensions) {
    PETSC_OK(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_PERIODIC, DM_BOUNDARY_NONE,
                          DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 16, 8, 8, PETSC_DECIDE, PETSC_DECIDE,
                          PETSC_DECIDE, 1, 1, nullptr, nullptr, nullptr, &da_));
    PETSC_OK(DMSetUp(da_));
    expect("equiangular", PETSC_ERR_SUP, "3 dimensions");
}

TEST_F(PetscSphereError, AnotherCommunicator) {
    if (world_size() == 1) GTEST_SKIP() << "all communicators of one rank are alike";
    make_plane(PETSC_COMM_SELF, DM_BOUNDARY_PERIODIC, DM_BOUNDARY_NONE);
    expect("equiangular", PETSC_ERR_ARG_NOTSAMECOMM, "communicator");
}

TEST_F(PetscSphereError, GridThatDoesNotExistAndRowsThatAreNotItsNodes) {
    make_plane(PETSC_COMM_WORLD, DM_BOUNDARY_PERIODIC, DM_BOUNDARY_NONE);
    expect("equingular", PETSC_ERR_ARG_WRONG, "equiangular");
    PETSC_OK(DMDASetUniformCoordinates(da_, 0, 360, -90, 90, 0, 0));
    expect("legendre-gauss", PETSC_ERR_ARG_WRONG, "nodes of a legendre-gauss grid of 8 rows");
    surrogate_domain* domain = nullptr;
    PETSC_OK(surrogate_domain_create_dm_sphere(context_, da_, "equiangular", PETSC_FALSE, &domain));
    surrogate_domain_destroy(&domain);
}

TEST_F(PetscSphereError, APointOfOneRankThatLeavesItsRowIsAnErrorOnAll) {
    make_plane(PETSC_COMM_WORLD, DM_BOUNDARY_PERIODIC, DM_BOUNDARY_NONE);
    PETSC_OK(DMDASetUniformCoordinates(da_, 0, 360, -90, 90, 0, 0));
    const bool is_wrong = world_rank() == world_size() - 1;
    if (is_wrong) {
        Vec coordinates = nullptr;
        PetscScalar* x = nullptr;
        PETSC_OK(DMGetCoordinates(da_, &coordinates));
        PETSC_OK(VecGetArray(coordinates, &x));
        x[2 * 1 + 1] += 1;  // latitude of the second point
        PETSC_OK(VecRestoreArray(coordinates, &x));
    }
    expect("equiangular", PETSC_ERR_ARG_WRONG,
           is_wrong ? "away from its row and column" : "rank " + std::to_string(world_size() - 1));
}

}  // namespace
