// SPDX-License-Identifier: Apache-2.0
// The example's meshes, their way to the ranks, and its solver, on any number of ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <numbers>
#include <set>
#include <vector>

#include "heat.hpp"
#include "study.hpp"
#include "tests/coupling/petsc/petsc_environment.hpp"

namespace {

using namespace million;

[[maybe_unused]] const auto* const environment =
    testing::AddGlobalTestEnvironment(new surrogate::test::PetscEnvironment);

int rank_of(MPI_Comm comm) {
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    return rank;
}

/// On rank 0; empty on the others.
WholeMesh on_first(WholeMesh mesh) {
    return rank_of(MPI_COMM_WORLD) == 0 ? std::move(mesh) : WholeMesh();
}

double area_of(const Position& a, const Position& b, const Position& c) {
    return ((b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x)) / 2;
}

TEST(MillionPlate, PipesStandApartAndAreThreeToEight) {
    std::set<std::size_t> counts;
    for (uint64_t seed = 0; seed < 300; ++seed) {
        const Plate plate = random_plate(seed);
        counts.insert(plate.pipes.size());
        for (std::size_t i = 0; i < plate.pipes.size(); ++i) {
            const Position& p = plate.pipes[i];
            EXPECT_GE(std::min({p.x, p.y, 1 - p.x, 1 - p.y}), 3 * Plate::radius - 1e-12) << seed;
            EXPECT_NEAR(plate.distance(p), -Plate::radius, 1e-12);
            for (std::size_t j = 0; j < i; ++j)
                EXPECT_GE(std::hypot(p.x - plate.pipes[j].x, p.y - plate.pipes[j].y),
                          5 * Plate::radius);
        }
    }
    EXPECT_EQ(counts, (std::set<std::size_t>{3, 4, 5, 6, 7, 8}));
}

TEST(MillionMesh, TrianglesCoverThePlateWithoutItsPipes) {
    for (const uint64_t seed : {1, 2, 7}) {
        const Plate plate = random_plate(seed);
        const WholeMesh mesh = make_mesh(plate, 5000, seed);
        EXPECT_NEAR(double(mesh.n_point()), 5000, 250);
        double whole = 0;
        for (std::size_t c = 0; c < mesh.corners.size(); c += 3) {
            Position at[3];
            for (std::size_t i = 0; i < 3; ++i)
                at[i] = mesh.place[std::size_t(mesh.corners[c + i])];
            const double area = std::abs(area_of(at[0], at[1], at[2]));
            EXPECT_GT(area, 1e-3 / double(mesh.n_point())) << "a triangle without an inside";
            whole += area;
            EXPECT_GT(plate.distance(
                          {(at[0].x + at[1].x + at[2].x) / 3, (at[0].y + at[1].y + at[2].y) / 3}),
                      -0.1 * Plate::radius);
        }
        // Pipes are polygons of some 18 corners.
        EXPECT_NEAR(whole, plate.area(), 0.05 * (1 - plate.area()));
        for (std::size_t p = 0; p < mesh.place.size(); ++p)
            EXPECT_NEAR(mesh.distance[p], plate.distance(mesh.place[p]), 1e-14);
    }
}

TEST(MillionMesh, IsAFunctionOfItsSeed) {
    const Plate plate = random_plate(5);
    const WholeMesh one = make_mesh(plate, 2000, 5), again = make_mesh(plate, 2000, 5);
    EXPECT_EQ(one.corners, again.corners);
    EXPECT_EQ(one.distance, again.distance);
    EXPECT_NE(make_mesh(plate, 2000, 6).distance, one.distance);
}

TEST(MillionMesh, ComesBackFromItsFile) {
    const std::string path =
        testing::TempDir() + "million_" + std::to_string(rank_of(MPI_COMM_WORLD)) + ".vtu";
    const WholeMesh mesh = make_mesh(random_plate(3), 1000, 3);
    write_mesh(path, mesh);
    const WholeMesh found = read_mesh(path);
    EXPECT_EQ(found.corners, mesh.corners);
    EXPECT_EQ(found.distance, mesh.distance);
    ASSERT_EQ(found.n_point(), mesh.n_point());
    for (std::size_t p = 0; p < mesh.place.size(); ++p) {
        EXPECT_EQ(found.place[p].x, mesh.place[p].x);
        EXPECT_EQ(found.place[p].y, mesh.place[p].y);
    }
    std::filesystem::remove(path);
    EXPECT_THROW(write_mesh("/no/such/folder/a.vtu", mesh), std::runtime_error);
}

/// The numbers of all ranks, in order.
std::vector<int64_t> gathered(std::vector<int64_t> mine) {
    int size = 1, n = int(mine.size());
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    std::vector<int> counts(std::size_t(size), 0), first(counts.size(), 0);
    MPI_Allgather(&n, 1, MPI_INT, counts.data(), 1, MPI_INT, MPI_COMM_WORLD);
    for (std::size_t r = 1; r < first.size(); ++r) first[r] = first[r - 1] + counts[r - 1];
    std::vector<int64_t> all(std::size_t(first.back() + counts.back()));
    MPI_Allgatherv(mine.data(), n, MPI_INT64_T, all.data(), counts.data(), first.data(),
                   MPI_INT64_T, MPI_COMM_WORLD);
    std::sort(all.begin(), all.end());
    return all;
}

TEST(MillionMesh, RanksShareItWithoutLossAndInEqualParts) {
    const WholeMesh whole = make_mesh(random_plate(4), 3000, 4);
    Mesh mesh;
    PETSC_OK(mesh.distribute(MPI_COMM_WORLD, on_first(whole)));
    std::vector<int64_t> owned, cells;
    for (const PetscInt point : mesh.owned()) owned.push_back(mesh.id()[std::size_t(point)]);
    for (int64_t p = 0; p < mesh.n_local(); ++p) {
        const auto id = std::size_t(mesh.id()[std::size_t(p)]);
        EXPECT_EQ(mesh.coordinates()[std::size_t(p)].x, whole.place[id].x);
        EXPECT_EQ(mesh.coordinates()[std::size_t(p)].y, whole.place[id].y);
        EXPECT_EQ(mesh.distance()[std::size_t(p)], whole.distance[id]);
    }
    // A triangle is known by the sum of its corners' mixed numbers.
    const auto key = [](int64_t a, int64_t b, int64_t c) {
        return (a + 1) * (b + 1) * (c + 1) + 1000003 * (a + b + c);
    };
    for (std::size_t c = 0; c < mesh.corners().size(); c += 3) {
        const auto id = [&](std::size_t i) {
            return mesh.id()[std::size_t(mesh.corners()[c + i])];
        };
        cells.push_back(key(id(0), id(1), id(2)));
    }
    std::vector<int64_t> all_points(whole.place.size()), all_cells;
    for (std::size_t p = 0; p < all_points.size(); ++p) all_points[p] = int64_t(p);
    for (std::size_t c = 0; c < whole.corners.size(); c += 3)
        all_cells.push_back(key(whole.corners[c], whole.corners[c + 1], whole.corners[c + 2]));
    std::sort(all_cells.begin(), all_cells.end());
    EXPECT_EQ(gathered(owned), all_points);
    EXPECT_EQ(gathered(cells), all_cells);
    int size = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const double part = double(whole.n_cell()) / size;
    EXPECT_NEAR(double(mesh.n_cell()), part, 0.1 * part) << "parts are not equal";
}

/// A ring between radii a and b, cold inside: n steps outwards, 6 n around.
WholeMesh ring(double a, double b, int n) {
    WholeMesh mesh;
    const int around = 6 * n;
    for (int i = 0; i <= n; ++i)
        for (int j = 0; j < around; ++j) {
            const double r = a + (b - a) * i / n, angle = 2 * std::numbers::pi * j / around;
            mesh.place.push_back({r * std::cos(angle), r * std::sin(angle)});
            mesh.distance.push_back(i == 0 ? 0 : r - a);
        }
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < around; ++j) {
            const int next = (j + 1) % around, in = i * around, out = in + around;
            for (const int corner : {in + j, out + j, out + next, in + j, out + next, in + next})
                mesh.corners.push_back(corner);
        }
    return mesh;
}

/// Relative error of the outer temperature of a ring with insulation around, against
///   T(r) = heat / (2 conductivity) (b^2 ln(r / a) - (r^2 - a^2) / 2).
double ring_error(int n) {
    constexpr double a = 0.04, b = 0.3;
    Mesh mesh;
    OwnedVec temperature;
    PetscInt n_iteration = 0;
    PetscReal hottest = 0;
    EXPECT_EQ(mesh.distribute(MPI_COMM_WORLD, on_first(ring(a, b, n))), 0);
    EXPECT_EQ(mesh.new_field(&temperature), 0);
    EXPECT_EQ(solve_heat(mesh, {2, 800}, temperature, &n_iteration), 0);
    EXPECT_EQ(VecMax(temperature, nullptr, &hottest), 0);
    const double exact = 800.0 / (2 * 2) * (b * b * std::log(b / a) - (b * b - a * a) / 2);
    return hottest / exact - 1;
}

TEST(MillionHeat, OfARingConvergesToItsFormula) {
    const double coarse = std::abs(ring_error(10)), middle = std::abs(ring_error(20));
    const double fine = std::abs(ring_error(40));
    EXPECT_LE(coarse, 0.05);
    EXPECT_LE(middle, coarse / 3);
    EXPECT_LE(fine, middle / 3);
}

TEST(MillionStudy, WhatIsWrongWithAFileIsAnErrorOfAllRanks) {
    Study study;
    PETSC_OK(study.create(MPI_COMM_WORLD, ""));
    const std::string path = testing::TempDir() + "million_wrong.vtu";
    if (rank_of(MPI_COMM_WORLD) == 0) {
        std::ofstream(path)
            << "<VTKFile type=\"UnstructuredGrid\" version=\"1.0\"><UnstructuredGrid>"
               "<Piece NumberOfPoints=\"3\" NumberOfCells=\"1\"><Points><DataArray "
               "type=\"Float64\" NumberOfComponents=\"3\" format=\"ascii\">0 0 0 1 0 0 "
               "0 1 0</DataArray></Points><Cells><DataArray type=\"Int64\" "
               "Name=\"connectivity\" format=\"ascii\">0 1 2</DataArray><DataArray "
               "type=\"Int64\" Name=\"offsets\" format=\"ascii\">3</DataArray><DataArray "
               "type=\"UInt8\" Name=\"types\" format=\"ascii\">5</DataArray></Cells>"
               "</Piece></UnstructuredGrid></VTKFile>";
    }
    MPI_Barrier(MPI_COMM_WORLD);
    Result result;
    const PetscErrorCode error = study.read(path, &result);
    EXPECT_NE(error, 0);
    EXPECT_NE(surrogate::test::petsc_text(error).find("no array 'distance'"), std::string::npos)
        << surrogate::test::petsc_text(error);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank_of(MPI_COMM_WORLD) == 0) std::filesystem::remove(path);
}

}  // namespace
