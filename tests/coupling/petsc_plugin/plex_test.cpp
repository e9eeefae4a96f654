// SPDX-License-Identifier: Apache-2.0
// Domains from a DMPlex: predictions are those at scattered points of the same coordinates.
#include <petscdmplex.h>
#include <surrogate/surrogate_petsc.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <ostream>
#include <tuple>
#include <vector>

#include "tests/coupling/petsc_plugin/darcy_ksp.hpp"

namespace {

using namespace surrogate::test;

const testing::Environment* const environment =
    testing::AddGlobalTestEnvironment(new PetscEnvironment);

/// Values a point by the dimension of the point: {1, 0, 0} is one at each vertex of a 2-D mesh.
using Dofs = std::array<PetscInt, 3>;

/// Quadrilaterals on the unit square, spread over the ranks with a layer of overlap, and a section.
class Mesh {
public:
    explicit Mesh(const Dofs& dofs, const std::array<PetscInt, 2>& faces = {5, 4}) {
        build(dofs, faces);
    }
    ~Mesh() { std::ignore = DMDestroy(&dm); }
    Mesh(const Mesh&) = delete;
    Mesh& operator=(const Mesh&) = delete;

    DM dm = nullptr;

private:
    void build(const Dofs& dofs, const std::array<PetscInt, 2>& faces) {
        DM spread = nullptr;
        PETSC_OK(DMPlexCreateBoxMesh(PETSC_COMM_WORLD, 2, PETSC_FALSE, faces.data(), nullptr,
                                     nullptr, nullptr, PETSC_TRUE, &dm));
        PETSC_OK(DMPlexDistribute(dm, 1, nullptr, &spread));
        if (spread) {
            PETSC_OK(DMDestroy(&dm));
            dm = spread;
        }
        PetscSection section = nullptr;
        PetscInt begin = 0, end = 0;
        PETSC_OK(PetscSectionCreate(PETSC_COMM_WORLD, &section));
        PETSC_OK(DMPlexGetChart(dm, &begin, &end));
        PETSC_OK(PetscSectionSetChart(section, begin, end));
        for (PetscInt depth = 0; depth < 3; ++depth) {
            PETSC_OK(DMPlexGetDepthStratum(dm, depth, &begin, &end));
            for (PetscInt point = begin; point < end; ++point)
                PETSC_OK(PetscSectionSetDof(section, point, dofs[size_t(depth)]));
        }
        PETSC_OK(PetscSectionSetUp(section));
        PETSC_OK(DMSetLocalSection(dm, section));
        PETSC_OK(PetscSectionDestroy(&section));
    }
};

struct Point {
    std::array<PetscReal, 2> x;
    PetscInt row;  // in a global vector's local part, in points
};

/// The owned points with values, as the DM's own numbering and geometry have them.
std::vector<Point> owned_points(DM dm, bool at_cells, PetscInt n_component) {
    std::vector<Point> points;
    IS numbering = nullptr;  // borrowed
    const PetscInt* number = nullptr;
    PetscInt begin = 0, end = 0, first = 0;
    PetscSection section = nullptr;
    Vec coordinates = nullptr;
    PetscSection places = nullptr;
    EXPECT_EQ(at_cells ? DMPlexGetCellNumbering(dm, &numbering)
                       : DMPlexGetVertexNumbering(dm, &numbering),
              0);
    EXPECT_EQ(at_cells ? DMPlexGetHeightStratum(dm, 0, &begin, &end)
                       : DMPlexGetDepthStratum(dm, 0, &begin, &end),
              0);
    EXPECT_EQ(DMGetGlobalSection(dm, &section), 0);
    Vec vec = nullptr;
    EXPECT_EQ(DMGetGlobalVector(dm, &vec), 0);
    EXPECT_EQ(VecGetOwnershipRange(vec, &first, nullptr), 0);
    EXPECT_EQ(DMRestoreGlobalVector(dm, &vec), 0);
    EXPECT_EQ(DMGetCoordinatesLocal(dm, &coordinates), 0);
    EXPECT_EQ(DMGetCoordinateSection(dm, &places), 0);
    EXPECT_EQ(ISGetIndices(numbering, &number), 0);
    const PetscScalar* x = nullptr;
    EXPECT_EQ(VecGetArrayRead(coordinates, &x), 0);
    for (PetscInt point = begin; point < end; ++point) {
        if (number[point - begin] < 0) continue;
        PetscInt offset = 0, at = 0;
        Point owned{};
        EXPECT_EQ(PetscSectionGetOffset(section, point, &offset), 0);
        owned.row = (offset - first) / n_component;
        if (at_cells) {
            PetscReal center[3] = {};
            EXPECT_EQ(DMPlexComputeCellGeometryFVM(dm, point, nullptr, center, nullptr), 0);
            owned.x = {center[0], center[1]};
        } else {
            EXPECT_EQ(PetscSectionGetOffset(places, point, &at), 0);
            owned.x = {x[at], x[at + 1]};
        }
        points.push_back(owned);
    }
    EXPECT_EQ(VecRestoreArrayRead(coordinates, &x), 0);
    EXPECT_EQ(ISRestoreIndices(numbering, &number), 0);
    return points;
}

class Plex : public testing::Test {
protected:
    void SetUp() override {
        const OptionScope options(OptionMap{{"-surrogate_reproducible", "true"}});
        PETSC_OK(surrogate_context_create_petsc(PETSC_COMM_WORLD, nullptr, &context_));
        const std::string path =
            model_file("plex", small_flare({{"x", 0}, {"y", 1}, {"a"}}, {{"p", 1}}, false));
        PETSC_OK(surrogate_model_load_petsc(context_, path.c_str(), &model_));
    }
    void TearDown() override {
        surrogate_model_destroy(&model_);
        surrogate_context_destroy(&context_);
    }

    /// p at the points of a domain, for a(x, y) = x + 2 y at the rows of `points`.
    std::vector<double> predict(const surrogate_domain* domain, const std::vector<Point>& points) {
        surrogate_plan* plan = nullptr;
        EXPECT_EQ(surrogate_plan_create_petsc(model_, domain, nullptr, &plan), 0);
        std::vector<double> a(points.size()), p(points.size());
        for (const Point& point : points) a[size_t(point.row)] = point.x[0] + 2 * point.x[1];
        const auto n = int64_t(points.size());
        const surrogate_array in = surrogate_column_f64(a.data(), n, 1);
        const surrogate_array out = surrogate_column_f64(p.data(), n, 1);
        EXPECT_EQ(surrogate_plan_bind_input(plan, "a", nullptr, &in), 0)
            << surrogate_error(nullptr);
        EXPECT_EQ(surrogate_plan_bind_output(plan, "p", nullptr, &out), 0)
            << surrogate_error(nullptr);
        EXPECT_EQ(surrogate_plan_run(plan), 0) << surrogate_error(nullptr);
        surrogate_plan_destroy(&plan);
        return p;
    }

    /// The same numbers, row by row, as for scattered points of the coordinates.
    void compare(const Dofs& dofs, bool at_cells, int64_t n_expected) {
        const Mesh mesh(dofs);
        const PetscInt n_component = at_cells ? dofs[2] : dofs[0];
        const std::vector<Point> points = owned_points(mesh.dm, at_cells, n_component);
        std::vector<double> x(2 * points.size());
        for (const Point& point : points)
            std::copy_n(point.x.begin(), 2, x.begin() + 2 * point.row);
        surrogate_domain *plex = nullptr, *scattered = nullptr;
        surrogate_points given{};
        given.x = surrogate_matrix_f64(x.data(), int64_t(points.size()), 2);
        PETSC_OK(surrogate_domain_create_dm(context_, mesh.dm, &plex));
        ASSERT_EQ(surrogate_domain_create_points(context_, &given, &scattered), 0);
        int64_t n_local = 0, n_global = 0;
        ASSERT_EQ(surrogate_domain_n_points(plex, &n_local, &n_global), 0);
        EXPECT_EQ(n_local, int64_t(points.size()));
        EXPECT_EQ(n_global, n_expected) << "points of the overlap are counted";
        EXPECT_EQ(predict(plex, points), predict(scattered, points));
        surrogate_domain_destroy(&plex);
        surrogate_domain_destroy(&scattered);
    }

    void expect_refusal(DM dm, PetscErrorCode code, const std::string& part) {
        surrogate_domain* domain = nullptr;
        const PetscErrorCode error = surrogate_domain_create_dm(context_, dm, &domain);
        EXPECT_EQ(error, code);
        EXPECT_NE(petsc_text(error).find(part), std::string::npos) << petsc_text(error);
        EXPECT_EQ(domain, nullptr);
    }

    surrogate_context* context_ = nullptr;
    surrogate_model* model_ = nullptr;
};

TEST_F(Plex, CellsAreAtTheirCentroids) {
    compare({0, 0, 1}, true, 20);
}

TEST_F(Plex, VerticesAreAtTheirCoordinates) {
    compare({1, 0, 0}, false, 30);
}

TEST_F(Plex, PointsOfSeveralValues) {
    compare({0, 0, 3}, true, 20);
    compare({2, 0, 0}, false, 30);
}

TEST_F(Plex, ConstrainedVerticesAreLeftOut) {
    // Values on the boundary are given: the global vectors hold the inner vertices only.
    const Mesh mesh({1, 0, 0});
    DMLabel label = nullptr;
    PETSC_OK(DMCreateLabel(mesh.dm, "edge"));
    PETSC_OK(DMGetLabel(mesh.dm, "edge", &label));
    const auto points = owned_points(mesh.dm, false, 1);
    PetscSection old = nullptr, section = nullptr;
    PetscInt begin = 0, end = 0, chart_begin = 0, chart_end = 0;
    Vec coordinates = nullptr;
    PetscSection places = nullptr;
    const PetscScalar* x = nullptr;
    PETSC_OK(DMGetLocalSection(mesh.dm, &old));
    PETSC_OK(PetscSectionGetChart(old, &chart_begin, &chart_end));
    PETSC_OK(DMPlexGetDepthStratum(mesh.dm, 0, &begin, &end));
    PETSC_OK(DMGetCoordinatesLocal(mesh.dm, &coordinates));
    PETSC_OK(DMGetCoordinateSection(mesh.dm, &places));
    PETSC_OK(VecGetArrayRead(coordinates, &x));
    const auto is_edge = [&](PetscInt vertex) {
        PetscInt at = 0;
        EXPECT_EQ(PetscSectionGetOffset(places, vertex, &at), 0);
        const PetscReal far = std::max(std::abs(x[at] - 0.5), std::abs(x[at + 1] - 0.5));
        return far > 0.499;
    };
    PETSC_OK(PetscSectionCreate(PETSC_COMM_WORLD, &section));
    PETSC_OK(PetscSectionSetChart(section, chart_begin, chart_end));
    for (PetscInt vertex = begin; vertex < end; ++vertex) {
        PETSC_OK(PetscSectionSetDof(section, vertex, 1));
        if (is_edge(vertex)) PETSC_OK(PetscSectionSetConstraintDof(section, vertex, 1));
    }
    PETSC_OK(PetscSectionSetUp(section));
    const PetscInt first_value = 0;
    for (PetscInt vertex = begin; vertex < end; ++vertex)
        if (is_edge(vertex))
            PETSC_OK(PetscSectionSetConstraintIndices(section, vertex, &first_value));
    PETSC_OK(VecRestoreArrayRead(coordinates, &x));
    PETSC_OK(DMSetLocalSection(mesh.dm, section));
    PETSC_OK(PetscSectionDestroy(&section));
    Vec vec = nullptr;
    PetscInt n_vec = 0;
    PETSC_OK(DMCreateGlobalVector(mesh.dm, &vec));
    PETSC_OK(VecGetLocalSize(vec, &n_vec));
    surrogate_domain* domain = nullptr;
    PETSC_OK(surrogate_domain_create_dm(context_, mesh.dm, &domain));
    int64_t n_local = 0, n_global = 0;
    ASSERT_EQ(surrogate_domain_n_points(domain, &n_local, &n_global), 0);
    EXPECT_EQ(n_local, n_vec);
    EXPECT_EQ(n_global, 12);  // 4 x 3 inner vertices of 5 x 4 cells
    surrogate_domain_destroy(&domain);
    PETSC_OK(VecDestroy(&vec));
}

TEST_F(Plex, RanksWithoutCells) {
    const Mesh mesh({0, 0, 1}, {1, 1});
    surrogate_domain* domain = nullptr;
    PETSC_OK(surrogate_domain_create_dm(context_, mesh.dm, &domain));
    int64_t n_local = 0, n_global = 0;
    ASSERT_EQ(surrogate_domain_n_points(domain, &n_local, &n_global), 0);
    EXPECT_EQ(n_global, 1);
    surrogate_domain_destroy(&domain);
}

/// A mesh of quadrilaterals or hexahedra whose section has the chart of one kind of points, with
/// constraints the points before, too.
struct ChartCase {
    PetscInt n_axis;
    PetscInt overlap;
    PetscInt depth;  // of the points with values: 0 vertices, 1 edges, n_axis cells
    PetscInt n_component;
    bool constrained;  // values of vertices on x = 0 are given
};

std::ostream& operator<<(std::ostream& out, const ChartCase& the) {
    return out << the.n_axis << " axes, overlap " << the.overlap << ", depth " << the.depth << ", "
               << the.n_component << " values" << (the.constrained ? ", constrained" : "");
}

/// Calls visit(point, x) with the DM's own coordinates of points [begin, end): centroids of cells.
template <class Visit>
void visit_places(DM dm, const ChartCase& the, PetscInt begin, PetscInt end, Visit&& visit) {
    Vec coordinates = nullptr;
    PetscSection places = nullptr;
    const PetscScalar* x = nullptr;
    PETSC_OK(DMGetCoordinatesLocal(dm, &coordinates));
    PETSC_OK(DMGetCoordinateSection(dm, &places));
    PETSC_OK(VecGetArrayRead(coordinates, &x));
    for (PetscInt point = begin; point < end; ++point) {
        std::array<PetscReal, 3> at{};
        if (the.depth == the.n_axis) {
            PETSC_OK(DMPlexComputeCellGeometryFVM(dm, point, nullptr, at.data(), nullptr));
        } else if (the.depth == 0) {
            PetscInt offset = 0;
            PETSC_OK(PetscSectionGetOffset(places, point, &offset));
            std::copy_n(x + offset, the.n_axis, at.begin());
        }
        visit(point, at);
    }
    PETSC_OK(VecRestoreArrayRead(coordinates, &x));
}

/// A distributed box whose local section has values on the points of one depth and no others.
class ChartMesh {
public:
    explicit ChartMesh(const ChartCase& the) : the_(the) {
        build();
        set_section();
    }
    ~ChartMesh() { std::ignore = DMDestroy(&dm); }
    ChartMesh(const ChartMesh&) = delete;
    ChartMesh& operator=(const ChartMesh&) = delete;

    /// A global vector whose value c of a point at x is x[0] + 10 x[1] + 100 x[2] + 1000 c, carried
    /// there from the local vector by PETSc. The caller destroys it.
    Vec values() const {
        Vec local = nullptr, global = nullptr;
        PetscSection section = nullptr;
        PetscScalar* value = nullptr;
        EXPECT_EQ(DMGetLocalSection(dm, &section), 0);
        EXPECT_EQ(DMCreateLocalVector(dm, &local), 0);
        EXPECT_EQ(DMCreateGlobalVector(dm, &global), 0);
        EXPECT_EQ(VecGetArray(local, &value), 0);
        visit_places(dm, the_, begin_, end_, [&](PetscInt point, const auto& x) {
            PetscInt offset = 0;
            EXPECT_EQ(PetscSectionGetOffset(section, point, &offset), 0);
            for (PetscInt c = 0; c < the_.n_component; ++c) value[offset + c] = value_at(x, c);
        });
        EXPECT_EQ(VecRestoreArray(local, &value), 0);
        EXPECT_EQ(DMLocalToGlobal(dm, local, INSERT_VALUES, global), 0);
        EXPECT_EQ(VecDestroy(&local), 0);
        return global;
    }

    template <class X>
    static PetscReal value_at(const X& x, PetscInt component) {
        return x[0] + 10 * x[1] + 100 * x[2] + 1000 * PetscReal(component);
    }

    DM dm = nullptr;

private:
    void build() {
        const std::array<PetscInt, 3> faces = {6, 5, 2};
        DM spread = nullptr;
        PETSC_OK(DMPlexCreateBoxMesh(PETSC_COMM_WORLD, the_.n_axis, PETSC_FALSE, faces.data(),
                                     nullptr, nullptr, nullptr, PETSC_TRUE, &dm));
        PETSC_OK(DMPlexDistribute(dm, the_.overlap, nullptr, &spread));
        if (spread) {
            PETSC_OK(DMDestroy(&dm));
            dm = spread;
        }
    }

    void set_section() {
        PetscSection section = nullptr;
        std::vector<PetscInt> given;  // points whose values are constrained
        PETSC_OK(DMPlexGetDepthStratum(dm, the_.depth, &begin_, &end_));
        PETSC_OK(PetscSectionCreate(PETSC_COMM_WORLD, &section));
        // PETSc 3.18 indexes constraints by the point, as if each chart began at 0.
        PETSC_OK(PetscSectionSetChart(section, the_.constrained ? 0 : begin_, end_));
        for (PetscInt point = begin_; point < end_; ++point)
            PETSC_OK(PetscSectionSetDof(section, point, the_.n_component));
        if (the_.constrained)
            visit_places(dm, the_, begin_, end_, [&](PetscInt point, const auto& x) {
                if (x[0] < 1e-9) given.push_back(point);
            });
        for (const PetscInt point : given)
            PETSC_OK(PetscSectionSetConstraintDof(section, point, the_.n_component));
        PETSC_OK(PetscSectionSetUp(section));
        const std::array<PetscInt, 3> all = {0, 1, 2};
        for (const PetscInt point : given)
            PETSC_OK(PetscSectionSetConstraintIndices(section, point, all.data()));
        PETSC_OK(DMSetLocalSection(dm, section));
        PETSC_OK(PetscSectionDestroy(&section));
    }

    ChartCase the_;
    PetscInt begin_ = 0, end_ = 0;  // points with values
};

/// Expects the points of the domain at the coordinates that the values of the vector tell.
void expect_places(const surrogate_domain* domain, Vec values, const ChartCase& the) {
    surrogate_points points{};
    int64_t n_local = 0, n_global = 0;
    PetscInt n_value = 0;
    const PetscScalar* value = nullptr;
    ASSERT_EQ(surrogate_domain_points(domain, &points), 0);
    ASSERT_EQ(surrogate_domain_n_points(domain, &n_local, &n_global), 0);
    PETSC_OK(VecGetLocalSize(values, &n_value));
    ASSERT_EQ(n_local * the.n_component, n_value);
    PETSC_OK(VecGetArrayRead(values, &value));
    for (int64_t i = 0; i < n_local; ++i) {
        std::array<double, 3> x{};
        for (int64_t axis = 0; axis < the.n_axis; ++axis)
            x[size_t(axis)] = static_cast<const double*>(
                points.x.data)[i * points.x.stride[0] + axis * points.x.stride[1]];
        for (PetscInt c = 0; c < the.n_component; ++c)
            EXPECT_EQ(ChartMesh::value_at(x, c), value[i * the.n_component + c])
                << the << ", point " << i;
    }
    PETSC_OK(VecRestoreArrayRead(values, &value));
}

std::vector<ChartCase> chart_cases() {
    std::vector<ChartCase> cases;
    for (const PetscInt n_axis : {2, 3})
        for (const PetscInt overlap : {0, 1, 2}) {
            const PetscInt n_component = 3 - overlap;
            cases.push_back({n_axis, overlap, 0, n_component, false});
            cases.push_back({n_axis, overlap, 0, n_component, true});
            cases.push_back({n_axis, overlap, n_axis, n_component, false});
        }
    return cases;
}

TEST_F(Plex, ChartsOfVerticesOrCellsAloneHaveThePlacesOfTheVectors) {
    for (const ChartCase& the : chart_cases()) {
        const ChartMesh mesh(the);
        Vec values = mesh.values();
        surrogate_domain* domain = nullptr;
        PETSC_OK(surrogate_domain_create_dm(context_, mesh.dm, &domain));
        expect_places(domain, values, the);
        surrogate_domain_destroy(&domain);
        PETSC_OK(VecDestroy(&values));
    }
}

TEST_F(Plex, ChartsOfEdgesOrFacesAreRefused) {
    for (const PetscInt overlap : {0, 1, 2}) {
        expect_refusal(ChartMesh({2, overlap, 1, 1, false}).dm, PETSC_ERR_SUP, "edges or faces");
        expect_refusal(ChartMesh({3, overlap, 1, 1, false}).dm, PETSC_ERR_SUP, "edges or faces");
        expect_refusal(ChartMesh({3, overlap, 2, 1, false}).dm, PETSC_ERR_SUP, "edges or faces");
    }
}

/// Sets the offset of the last rank's first point with values in a copy of the global section.
void move_first_row(DM dm, PetscInt by) {
    PetscSection own = nullptr, section = nullptr;
    PetscInt begin = 0, end = 0, n = 0, offset = 0;
    PETSC_OK(DMGetGlobalSection(dm, &own));
    PETSC_OK(PetscSectionClone(own, &section));
    PETSC_OK(PetscSectionGetChart(section, &begin, &end));
    PetscMPIInt rank = 0, size = 0;
    MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
    MPI_Comm_size(PETSC_COMM_WORLD, &size);
    for (PetscInt point = begin; point < end; ++point) {
        PETSC_OK(PetscSectionGetDof(own, point, &n));
        PETSC_OK(PetscSectionGetOffset(own, point, &offset));
        const bool is_last = rank == size - 1 && n > 0;
        PETSC_OK(PetscSectionSetOffset(section, point, is_last ? offset + by : offset));
        if (is_last) break;
    }
    PETSC_OK(DMSetGlobalSection(dm, section));
    PETSC_OK(PetscSectionDestroy(&section));
}

TEST_F(Plex, RowsOutsideTheVectorsOrTakenTwiceAreRefusedOnAllRanks) {
    const ChartCase vertices = {2, 1, 0, 2, false};
    for (const PetscInt by : {-1000000, -1, 1, 2, 1000000}) {
        const ChartMesh mesh(vertices);
        move_first_row(mesh.dm, by);
        expect_refusal(mesh.dm, PETSC_ERR_ARG_OUTOFRANGE, "expected a row of its own in [");
    }
}

TEST_F(Plex, MeshesWithoutCoordinatesAreRefused) {
    const ChartMesh mesh({2, 0, 0, 1, false});
    DM copy = nullptr;
    PETSC_OK(DMClone(mesh.dm, &copy));
    PETSC_OK(DMSetCoordinates(copy, nullptr));
    PETSC_OK(DMSetCoordinatesLocal(copy, nullptr));
    PetscSection section = nullptr;
    PETSC_OK(DMGetLocalSection(mesh.dm, &section));
    PETSC_OK(DMSetLocalSection(copy, section));
    expect_refusal(copy, PETSC_ERR_ARG_WRONG, "the DMPlex has no coordinates");
    PETSC_OK(DMDestroy(&copy));
}

TEST_F(Plex, SectionsThatAreNoDomain) {
    expect_refusal(Mesh({1, 0, 1}).dm, PETSC_ERR_SUP, "unknowns on cells, vertices, expected");
    expect_refusal(Mesh({1, 1, 0}).dm, PETSC_ERR_SUP, "-surrogate_coordinates_file FILE");
    expect_refusal(Mesh({0, 0, 0}).dm, PETSC_ERR_ARG_WRONGSTATE, "has no unknowns");
}

TEST_F(Plex, OtherTypesOfDmAreNamed) {
    DM shell = nullptr;
    PETSC_OK(DMCreate(PETSC_COMM_WORLD, &shell));
    PETSC_OK(DMSetType(shell, DMSHELL));
    expect_refusal(shell, PETSC_ERR_SUP, "the DM has type shell, expected da or plex");
    PETSC_OK(DMDestroy(&shell));
}

}  // namespace
