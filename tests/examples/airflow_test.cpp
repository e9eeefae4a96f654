// SPDX-License-Identifier: Apache-2.0
// The example's bodies, meshes and panel method, on any number of ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "panel.hpp"
#include "potential_flow.hpp"
#include "speed.hpp"
#include "surface.hpp"
#include "sweep.hpp"
#include "tests/coupling/petsc/petsc_environment.hpp"

namespace {

using namespace airflow;

[[maybe_unused]] const auto* const environment =
    testing::AddGlobalTestEnvironment(new surrogate::test::PetscEnvironment);

/// A PETSc call that must succeed, in functions that return values.
void expect_ok(PetscErrorCode error) {
    EXPECT_EQ(error, 0) << surrogate::test::petsc_text(error);
}

constexpr int64_t seeds[] = {1, 2, 1000, 3019};

Surface surface_of(const Body& body, int64_t n_point, MPI_Comm comm = PETSC_COMM_WORLD) {
    Surface surface;
    expect_ok(surface.create(comm, body, n_point));
    return surface;
}

/// A field of one.
OwnedVec ones(const Surface& surface) {
    OwnedVec field;
    expect_ok(surface.new_field(&field));
    expect_ok(VecSet(field, 1));
    return field;
}

/// Global numbers of the corners of all ranks' cells.
std::vector<int64_t> all_corners(const Surface& surface) {
    std::vector<int64_t> mine, all;
    for (const int64_t local : surface.corners()) mine.push_back(surface.id()[local]);
    int size = 1, n = static_cast<int>(mine.size());
    MPI_Comm_size(surface.comm(), &size);
    std::vector<int> counts(static_cast<size_t>(size)), first(counts.size(), 0);
    MPI_Allgather(&n, 1, MPI_INT, counts.data(), 1, MPI_INT, surface.comm());
    for (size_t r = 1; r < first.size(); ++r) first[r] = first[r - 1] + counts[r - 1];
    all.resize(static_cast<size_t>(first.back() + counts.back()));
    MPI_Allgatherv(mine.data(), n, MPI_INT64_T, all.data(), counts.data(), first.data(),
                   MPI_INT64_T, surface.comm());
    return all;
}

TEST(AirflowBody, NormalOfASphereIsItsDirection) {
    const Body body = sphere(2);
    for (const Vector3 direction : {Vector3{1, 0, 0}, {0, -1, 0}, {0.3, -0.2, 0.7}, {-1, -1, -1}})
        EXPECT_LE(norm(normal_at(body, direction) - unit(direction)), 1e-9);
}

TEST(AirflowBody, LeftIsRightToTheBit) {
    const Body body = car_body(random_car(5));
    for (const Vector3 b : {Vector3{0.3, 1, 0.2}, {-1, 0.5, -0.9}, {0.6, 0.7, -1}}) {
        const Vector3 left = body.at({b.x, -b.y, b.z}), right = body.at(b);
        EXPECT_EQ(left.x, right.x);
        EXPECT_EQ(left.y, -right.y);
        EXPECT_EQ(left.z, right.z);
    }
}

TEST(AirflowBody, CarsStandAboveTheGround) {
    for (int64_t seed = 0; seed < 200; ++seed) {
        const CarShape car = random_car(static_cast<uint64_t>(seed));
        const Body body = car_body(car);
        const BoxGrid grid = BoxGrid::of_points(2000, body.extent);
        double lowest = 1e300, highest = 0;
        for (int64_t p = 0; p < grid.n_point(); ++p) {
            const double z = body.at(grid.direction(grid.point(p))).z;
            lowest = std::min(lowest, z);
            highest = std::max(highest, z);
        }
        EXPECT_GE(lowest, 0.079) << "seed " << seed;
        EXPECT_LE(highest, car.height + 1e-12) << "seed " << seed;
        EXPECT_GE(highest, 0.93 * car.height) << "seed " << seed;
    }
}

TEST(AirflowGrid, NumbersArePointsAndBack) {
    const BoxGrid grid({5, 4, 3});
    for (int64_t p = 0; p < grid.n_point(); ++p) EXPECT_EQ(grid.number(grid.point(p)), p);
    EXPECT_EQ(grid.n_point(), 6 * 5 * 4 - 4 * 3 * 2);
    EXPECT_THROW(BoxGrid({5, 3, 3}), std::invalid_argument);
}

TEST(AirflowGrid, HasAboutAsManyPointsAsAsked) {
    const Body body = car_body(random_car(1));
    for (const int64_t n : {500, 20000, 1000000}) {
        const int64_t found = BoxGrid::of_points(n, body.extent).n_point();
        EXPECT_LE(found, n);
        EXPECT_GE(double(found), 0.9 * double(n));
    }
}

TEST(AirflowGrid, InterpolationIsExactForWhatIsLinearOnTheBox) {
    const BoxGrid coarse({7, 6, 5}), fine({16, 10, 9});
    for (int64_t p = 0; p < fine.n_point(); ++p) {
        const Stencil stencil = interpolate(coarse, fine, fine.point(p));
        Vector3 found;
        for (int c = 0; c < 4; ++c)
            found += stencil.weight[c] * coarse.direction(coarse.point(stencil.point[c]));
        EXPECT_LE(norm(found - fine.direction(fine.point(p))), 1e-14);
    }
}

TEST(AirflowSurface, IsWatertightAndItsNormalsPointOut) {
    for (const int64_t seed : seeds) {
        const Surface surface = surface_of(car_body(random_car(uint64_t(seed))), 3000);
        const std::vector<int64_t> corners = all_corners(surface);
        std::map<std::pair<int64_t, int64_t>, int> edges;
        for (size_t c = 0; c < corners.size(); c += 4)
            for (size_t e = 0; e < 4; ++e) ++edges[{corners[c + e], corners[c + (e + 1) % 4]}];
        for (const auto& [edge, n] : edges) {
            ASSERT_EQ(n, 1);
            ASSERT_EQ(edges.count({edge.second, edge.first}), 1u);
        }
        // Euler: a closed surface without holes.
        EXPECT_EQ(
            surface.grid().n_point() - int64_t(edges.size()) / 2 + int64_t(corners.size()) / 4, 2);
        for (size_t c = 0; c < surface.corners().size(); c += 4) {
            const int64_t* k = &surface.corners()[c];
            const auto& x = surface.coordinates();
            const Vector3 normal = unit(cross(x[k[2]] - x[k[0]], x[k[3]] - x[k[1]]));
            for (int i = 0; i < 4; ++i) EXPECT_GE(dot(normal, surface.normal()[k[i]]), 0.5);
        }
        Vector3 whole;
        expect_ok(surface.integrate(ones(surface), &whole));
        EXPECT_LE(norm(whole), 1e-11);
    }
}

TEST(AirflowSurface, IsTheSameOnAnyNumberOfRanks) {
    const Body body = car_body(random_car(7));
    const Surface mine = surface_of(body, 2500), whole = surface_of(body, 2500, PETSC_COMM_SELF);
    ASSERT_EQ(whole.n_owned(), mine.grid().n_point());
    for (int64_t p = 0; p < mine.n_local(); ++p) {
        const auto number = static_cast<size_t>(mine.id()[p]);
        EXPECT_EQ(norm(mine.coordinates()[p] - whole.coordinates()[number]), 0);
        EXPECT_EQ(norm(mine.normal()[p] - whole.normal()[number]), 0);
    }
    std::vector<int64_t> all;
    for (const int64_t local : whole.corners()) all.push_back(whole.id()[local]);
    EXPECT_EQ(all_corners(mine), all);
}

/// The panel cut into n x n points, each with its share of the source.
Vector3 by_quadrature(const Panel& panel, const Vector3& x, int n) {
    Vector3 sum;
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
            const double s = (i + 0.5) / n, t = (j + 0.5) / n;
            const auto& c = panel.corner;
            const Vector3 y =
                (1 - s) * (1 - t) * c[0] + s * (1 - t) * c[1] + s * t * c[2] + (1 - s) * t * c[3];
            const Vector3 along = (1 - t) * (c[1] - c[0]) + t * (c[2] - c[3]);
            const Vector3 across = (1 - s) * (c[3] - c[0]) + s * (c[2] - c[1]);
            const double share = norm(cross(along, across)) / (n * n), r = norm(x - y);
            sum += share / (4 * std::numbers::pi * r * r * r) * (x - y);
        }
    return sum;
}

TEST(AirflowPanel, VelocityIsThatOfSourcesAllOverThePanel) {
    const Panel panel =
        Panel::through({{{0, 0, 0}, {1, 0.1, 0}, {1.2, 0.9, 0.3}, {-0.1, 0.8, 0.1}}});
    for (const Vector3 x : {Vector3{0.4, 0.3, 0.9}, {0.5, 0.5, -0.7}, {3, -1, 0.2}, {-20, 5, 7}}) {
        const Vector3 v = source_velocity(panel, x), expected = by_quadrature(panel, x, 400);
        EXPECT_LE(norm(v - expected), 1e-3 * norm(expected))
            << x.x;  // far away the panel is a point
    }
    EXPECT_NEAR(dot(own_velocity(panel), panel.normal), 0.5, 1e-12);
}

/// Relative L2 distance of the pressure coefficient on a sphere from 1 - 9/4 sin^2.
double sphere_error(int64_t n_panel, const Mirrors& mirrors) {
    const Body body = sphere(1);
    PotentialFlow flow;
    expect_ok(
        flow.solve(PETSC_COMM_WORLD, body, BoxGrid::of_points(n_panel, body.extent), mirrors));
    const BoxGrid fine = BoxGrid::of_points(5000, body.extent);
    double error = 0, whole = 0;
    for (int64_t p = 0; p < fine.n_point(); ++p) {
        const BoxGrid::Index index = fine.point(p);
        const Vector3 x = body.at(fine.direction(index)), v = flow.velocity_at(fine, index, x);
        const double exact = 1 - 2.25 * (1 - x.x * x.x), found = 1 - dot(v, v);
        error += (found - exact) * (found - exact);
        whole += exact * exact;
    }
    return std::sqrt(error / whole);
}

TEST(AirflowPotentialFlow, PressureOnASphereConverges) {
    const double coarse = sphere_error(300, {false, false});
    const double middle = sphere_error(1200, {false, false});
    const double fine = sphere_error(4800, {false, false});
    EXPECT_LE(coarse, 0.06);
    EXPECT_LE(middle, coarse / 2);
    EXPECT_LE(fine, middle / 2);
}

TEST(AirflowPotentialFlow, HalfOfASphereAndItsImageAreTheWhole) {
    EXPECT_NEAR(sphere_error(1200, {true, false}), sphere_error(1200, {false, false}), 1e-9);
}

/// Drag and lift of a sphere of radius 1 at some height above the ground.
Vector3 force_above_ground(double height) {
    Body body = sphere(1);
    body.at = [height](const Vector3& b) { return unit(b) + Vector3{0, 0, height}; };
    PotentialFlow flow;
    expect_ok(
        flow.solve(PETSC_COMM_WORLD, body, BoxGrid::of_points(1200, body.extent), {true, true}));
    const Surface surface = surface_of(body, 2000);
    OwnedVec field;
    expect_ok(surface.new_field(&field));
    for (int64_t p = 0; p < surface.n_owned(); ++p) {
        const int64_t number = surface.id()[p];
        const Vector3 v =
            flow.velocity_at(surface.grid(), surface.grid().point(number), surface.normal()[p]);
        expect_ok(VecSetValue(field, PetscInt(number), 1 - dot(v, v), INSERT_VALUES));
    }
    expect_ok(VecAssemblyBegin(field));
    expect_ok(VecAssemblyEnd(field));
    Vector3 force;
    expect_ok(surface.integrate(field, &force));
    return -1 * force;
}

TEST(AirflowPotentialFlow, TheGroundPullsASphereDownAsLambSays) {
    // Lamb, Hydrodynamics, art. 137: the energy of the fluid around a sphere of radius 1 that moves
    // along a wall at distance h gives the force over dynamic pressure 3 pi / 8 / h^4, to leading
    // order.
    const Vector3 near = force_above_ground(2), far = force_above_ground(50);
    const double lamb = 3 * std::numbers::pi / 8 / 16;
    EXPECT_NEAR(near.z, -lamb, 0.04 * lamb);
    EXPECT_LE(std::abs(near.x), 1e-3);
    EXPECT_LE(std::abs(far.z), 1e-3);
}

TEST(AirflowSpeed, CostAtAnErrorIsInterpolatedInLogarithms) {
    const std::vector<Measurement> solver = {{0.16, 1}, {0.04, 4}, {0.05, 9}, {0.01, 16}};
    EXPECT_NEAR(cost_at_error(solver, 0.08).seconds, 2, 1e-12);
    EXPECT_EQ(cost_at_error(solver, 0.08).kind, CostAtError::Kind::interpolated);
    EXPECT_NEAR(cost_at_error(solver, 0.04).seconds, 4, 1e-12);  // the first accurate one
    EXPECT_NEAR(cost_at_error(solver, 0.01).seconds, 16, 1e-12);
}

TEST(AirflowSpeed, CostOutsideTheMeasurementsIsABound) {
    const std::vector<Measurement> solver = {{0.16, 1}, {0.04, 4}};
    const CostAtError coarse = cost_at_error(solver, 0.2), fine = cost_at_error(solver, 0.01);
    EXPECT_EQ(coarse.kind, CostAtError::Kind::upper_bound);
    EXPECT_EQ(coarse.seconds, 1);
    EXPECT_EQ(fine.kind, CostAtError::Kind::lower_bound);
    EXPECT_EQ(fine.seconds, 4);
}

TEST(AirflowSpeed, ErrorsAtACostAreInterpolatedInLogarithms) {
    const std::vector<Measurement> solver = {{0.16, 1, 0.4, 0}, {0.04, 4, 0.1, 0}};
    const Measurement between = errors_at_cost(solver, 2);
    EXPECT_NEAR(between.error, 0.08, 1e-12);
    EXPECT_NEAR(between.lift_error, 0.2, 1e-12);
    EXPECT_EQ(between.drag_error, 0);
    EXPECT_EQ(errors_at_cost(solver, 0.5).error, 0.16);
    EXPECT_EQ(errors_at_cost(solver, 9).error, 0.04);
}

TEST(AirflowSpeed, MedianOfAnEvenCountIsTheMeanOfTheMiddle) {
    EXPECT_EQ(median({3}), 3);
    EXPECT_EQ(median({9, 1, 5}), 5);
    EXPECT_EQ(median({9, 1, 5, 4}), 4.5);
}

TEST(AirflowSpeed, FitFindsLinearAndQuadraticCost) {
    const std::vector<double> n = {1000, 2000, 4000};
    const auto seconds = [&](double linear, double quadratic) {
        std::vector<double> values;
        for (const double k : n) values.push_back(linear * k + quadratic * k * k);
        return values;
    };
    for (const auto& [linear, quadratic] :
         {std::pair{7e-5, 2e-8}, std::pair{0.0, 2e-8}, std::pair{7e-5, 0.0}}) {
        const CostModel found = fit_cost(n, seconds(linear, quadratic));
        EXPECT_NEAR(found.linear, linear, 1e-12);
        EXPECT_NEAR(found.quadratic, quadratic, 1e-16);
    }
    // Seconds that rise faster than the square leave no linear part, seconds that rise slower than
    // the count no quadratic one.
    EXPECT_EQ(fit_cost({1, 2}, {1, 8}).linear, 0);
    EXPECT_EQ(fit_cost({1, 4}, {1, 2}).quadratic, 0);
    EXPECT_EQ(fit_cost({2}, {8}).quadratic, 2);
}

TEST(AirflowSweep, ErrorsFallWithPanelsAndSecondsAreMeasured) {
    Settings settings;
    expect_ok(settings.read(PETSC_COMM_WORLD));
    settings.n_panel = 1000;
    settings.sweep_panels = {200, 400};
    settings.sweep_points = {600, 900};
    settings.n_sweep_round = 1;
    Sweep sweep;
    expect_ok(sweep.create(PETSC_COMM_WORLD, settings));
    std::vector<SweepCase> cases;
    expect_ok(sweep.measure(3001, &cases));
    ASSERT_EQ(cases.size(), 2u);
    EXPECT_LE(cases[0].n_point, 600);
    EXPECT_LE(cases[1].n_point, 900);
    for (const SweepCase& one : cases) {
        EXPECT_EQ(one.seed, 3001);
        EXPECT_GT(one.surrogate.seconds, 0);
        EXPECT_GT(one.surrogate.error, 0.01);
        EXPECT_LE(one.surrogate.error, 0.5);
        ASSERT_EQ(one.solver.size(), 2u);
        EXPECT_LT(one.solver[1].error, one.solver[0].error);
        EXPECT_GT(one.solver.back().error, 0);
        EXPECT_LT(one.solver.back().lift_error, 0.5);
        EXPECT_LT(one.lift, 0);  // the ground pulls the body down
        EXPECT_EQ(one.reference.lift_error, 0);
        EXPECT_GT(one.reference.drag_error, 0);
        EXPECT_GT(one.reference.seconds, one.solver[0].seconds);  // 25 times the pairs of panels
    }
}

/// Reads a command line of two options; "" is no value.
PetscErrorCode read_settings(const char* first, const char* first_value, const char* second,
                             const char* second_value, Settings* settings) {
    const auto value = [](const char* text) { return *text ? text : nullptr; };
    expect_ok(PetscOptionsSetValue(nullptr, first, value(first_value)));
    expect_ok(PetscOptionsSetValue(nullptr, second, value(second_value)));
    const PetscErrorCode error = settings->read(PETSC_COMM_WORLD);
    expect_ok(PetscOptionsClearValue(nullptr, second));
    expect_ok(PetscOptionsClearValue(nullptr, first));
    return error;
}

TEST(AirflowSettings, SweepTakesItsOptions) {
    Settings settings;
    expect_ok(read_settings("-sweep", "", "-sweep_panels", "300,9999", &settings));
    EXPECT_TRUE(settings.is_sweep);
    EXPECT_EQ(settings.sweep_panels, (std::vector<PetscInt>{300, 9999}));
}

TEST(AirflowSettings, SweepNamesTheOptionThatItRejects) {
    const std::vector<std::array<const char*, 3>> wrong = {
        {"-sweep_panels", "800,300", "-sweep_panels has 300, expected rising numbers"},
        {"-sweep_panels", "2000,10000", "below -panels 10000"},
        {"-sweep_panels", "50", "from 100"},
        {"-sweep_points", "10", "-sweep_points is 10"},
        {"-sweep_rounds", "0", "-sweep_rounds is 0"},
        {"-near", "0.5", "-near is 0.5, expected a number from 1"},
        {"-training_seconds", "-1", "-training_seconds is -1"},
        {"-output", "folder", "remove -output"},
        {"-model", "", "-model is empty"}};
    for (const auto& [option, value, text] : wrong) {
        Settings settings;
        const PetscErrorCode error = read_settings("-sweep", "", option, value, &settings);
        EXPECT_NE(error, 0) << option;
        EXPECT_NE(surrogate::test::petsc_text(error).find(text), std::string::npos)
            << surrogate::test::petsc_text(error);
    }
}

TEST(AirflowSweep, AModelThatCannotBeUsedIsAnError) {
    Settings settings;
    settings.model = "no_such_model.safetensors";
    Sweep sweep;
    EXPECT_NE(sweep.create(PETSC_COMM_WORLD, settings), 0);
}

}  // namespace
