// SPDX-License-Identifier: Apache-2.0
#include "domain_plex.hpp"

#include <petscbt.h>
#include <petscdmplex.h>

#include <algorithm>
#include <array>
#include <limits>

#include "check_dm.hpp"
#include "predictor/attempt.hpp"
#include "scalar_array.hpp"

namespace surrogate::petsc {

namespace {

/// Points [first, end) of the mesh: all cells or all vertices.
struct Stratum {
    PetscInt first, end;
    bool has(PetscInt point) const { return point >= first && point < end; }
};

/// Describes the values of this rank's points in the global vectors.
struct Layout {
    PetscSection section = nullptr;  // of the global vectors, borrowed
    bool at_cells = false;
    PetscInt n_component = 0;  // values per point
    PetscInt n_point = 0;      // points of this rank that have values
    PetscInt first = 0;        // this rank's values are [first, end) of the global vectors
    PetscInt end = 0;
};

/// Number of unknowns of this rank, and the smallest and largest number per point that has some.
struct Census {
    PetscInt on_cells = 0, on_vertices = 0, elsewhere = 0;
    PetscInt fewest = std::numeric_limits<PetscInt>::max(), most = 0;
};

/// Returns the number of values of an owned point in the global vectors, without constrained
/// values.
PetscErrorCode n_values(PetscSection section, PetscInt point, PetscInt* n) {
    PetscFunctionBegin;
    PetscInt n_constrained = 0;
    PetscCall(PetscSectionGetDof(section, point, n));
    PetscCall(PetscSectionGetConstraintDof(section, point, &n_constrained));
    *n = *n > 0 ? *n - n_constrained : 0;  // below 0: a point of another rank
    PetscFunctionReturn(0);
}

PetscErrorCode count(PetscSection section, const Stratum& cells, const Stratum& vertices,
                     Census* census) {
    PetscFunctionBegin;
    PetscInt begin = 0, end = 0, n = 0;
    PetscCall(PetscSectionGetChart(section, &begin, &end));
    for (PetscInt point = begin; point < end; ++point) {
        PetscCall(n_values(section, point, &n));
        if (n == 0) continue;
        ++(cells.has(point)      ? census->on_cells
           : vertices.has(point) ? census->on_vertices
                                 : census->elsewhere);
        census->fewest = std::min(census->fewest, n);
        census->most = std::max(census->most, n);
    }
    PetscFunctionReturn(0);
}

/// Reduces over all ranks. Ranks without points get the layout of the other ranks.
PetscErrorCode sum_up(MPI_Comm comm, Census* census) {
    PetscFunctionBegin;
    std::array<PetscInt, 5> largest = {census->on_cells, census->on_vertices, census->elsewhere,
                                       census->most, -census->fewest};
    PetscCallMPI(
        MPI_Allreduce(MPI_IN_PLACE, largest.data(), int(largest.size()), MPIU_INT, MPI_MAX, comm));
    *census = {largest[0], largest[1], largest[2], -largest[4], largest[3]};
    PetscFunctionReturn(0);
}

PetscErrorCode check_census(const Census& census) {
    PetscFunctionBegin;
    PetscCheck(census.most > 0, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE,
               "the section of the DMPlex has no unknowns; set one with unknowns on cells or "
               "vertices (DMSetLocalSection, or fields and DMCreateDS)");
    const bool is_one_kind = (census.on_cells > 0) != (census.on_vertices > 0);
    PetscCheck(
        is_one_kind && census.elsewhere == 0, PETSC_COMM_SELF, PETSC_ERR_SUP,
        "the section of the DMPlex has unknowns on %s%s%s%s%s, expected cells alone or vertices "
        "alone; for others %s",
        census.on_cells ? "cells" : "", census.on_cells && census.on_vertices ? ", " : "",
        census.on_vertices ? "vertices" : "",
        census.elsewhere && (census.on_cells || census.on_vertices) ? ", " : "",
        census.elsewhere ? "edges or faces" : "", points_remedy);
    PetscCheck(census.fewest == census.most, PETSC_COMM_SELF, PETSC_ERR_SUP,
               "the section of the DMPlex has %" PetscInt_FMT " to %" PetscInt_FMT
               " values a point in the global vectors (constrained ones are left out); domains are "
               "made from points with as many each",
               census.fewest, census.most);
    PetscFunctionReturn(0);
}

/// Finds this rank's range of the global vectors. The offset of the chart's first point does not
/// give it: that offset is negative if another rank owns the point. Collective.
PetscErrorCode find_range(MPI_Comm comm, Layout* layout) {
    PetscFunctionBegin;
    PetscLayout values = nullptr;
    PetscCall(PetscSectionGetValueLayout(comm, layout->section, &values));
    PetscCall(PetscLayoutGetRange(values, &layout->first, &layout->end));
    PetscCall(PetscLayoutDestroy(&values));
    PetscFunctionReturn(0);
}

PetscErrorCode find_layout(DM dm, Layout* layout) {
    PetscFunctionBegin;
    PetscSection local = nullptr;  // borrowed
    PetscCall(DMGetLocalSection(dm, &local));
    PetscCheck(local, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE,
               "the DMPlex has no section, which says whether its unknowns are on cells or on "
               "vertices; set one (DMSetLocalSection, or fields and DMCreateDS)");
    PetscCall(DMGetGlobalSection(dm, &layout->section));
    Stratum cells{}, vertices{};
    Census census;
    PetscCall(DMPlexGetHeightStratum(dm, 0, &cells.first, &cells.end));
    PetscCall(DMPlexGetDepthStratum(dm, 0, &vertices.first, &vertices.end));
    PetscCall(count(layout->section, cells, vertices, &census));
    layout->n_point = census.on_cells + census.on_vertices + census.elsewhere;
    MPI_Comm comm = PetscObjectComm(reinterpret_cast<PetscObject>(dm));
    PetscCall(sum_up(comm, &census));
    PetscCall(check_census(census));
    layout->at_cells = census.on_cells > 0;
    layout->n_component = census.most;
    PetscCall(find_range(comm, layout));
    PetscFunctionReturn(0);
}

/// Holds the coordinates in the local vector of the DM, vertices of the overlap included.
struct Coordinates {
    PetscSection section = nullptr;  // borrowed
    Vec vec = nullptr;               // borrowed; nullptr if the DM has no coordinates
    PetscInt n_axis = 0;
    PetscInt n_value = 0;
    const PetscScalar* data = nullptr;  // (n_value), while place_all() reads the vector
};

/// Finds the coordinates of a DM. Collective: the local vector is filled by its first use.
PetscErrorCode find_coordinates(DM dm, Coordinates* coordinates) {
    PetscFunctionBegin;
    PetscCall(DMGetCoordinateDim(dm, &coordinates->n_axis));
    PetscCall(DMGetCoordinateSection(dm, &coordinates->section));
    PetscCall(DMGetCoordinatesLocal(dm, &coordinates->vec));
    PetscFunctionReturn(0);
}

/// Writes the centroid of a cell to x (n_axis).
PetscErrorCode place_cell(DM dm, PetscInt n_axis, PetscInt cell, PetscScalar* x) {
    PetscFunctionBegin;
    std::array<PetscReal, 3> center{};
    PetscCheck(n_axis <= PetscInt(center.size()), PETSC_COMM_SELF, PETSC_ERR_SUP,
               "the DMPlex has %" PetscInt_FMT
               " coordinates, expected 1 to 3 for unknowns on cells; %s",
               n_axis, points_remedy);
    PetscCall(DMPlexComputeCellGeometryFVM(dm, cell, nullptr, center.data(), nullptr));
    std::copy_n(center.begin(), n_axis, x);
    PetscFunctionReturn(0);
}

/// Writes the coordinates of a vertex to x (n_axis).
PetscErrorCode place_vertex(const Coordinates& coordinates, PetscInt vertex, PetscScalar* x) {
    PetscFunctionBegin;
    PetscInt begin = 0, end = 0, n = 0, offset = 0;
    PetscCall(PetscSectionGetChart(coordinates.section, &begin, &end));
    if (vertex >= begin && vertex < end) {
        PetscCall(PetscSectionGetDof(coordinates.section, vertex, &n));
        PetscCall(PetscSectionGetOffset(coordinates.section, vertex, &offset));
    }
    PetscCheck(n == coordinates.n_axis && offset >= 0 && offset <= coordinates.n_value - n,
               PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
               "vertex %" PetscInt_FMT " of the DMPlex has %" PetscInt_FMT
               " coordinates at offset %" PetscInt_FMT " of the %" PetscInt_FMT
               " values of its coordinate vector, expected %" PetscInt_FMT
               "; set coordinates of all vertices (DMSetCoordinatesLocal)",
               vertex, n, offset, coordinates.n_value, coordinates.n_axis);
    std::copy_n(coordinates.data + offset, n, x);
    PetscFunctionReturn(0);
}

/// Finds the row of a point that has values, and marks it in `taken`.
PetscErrorCode take_row(const Layout& layout, PetscInt point, PetscBT taken, PetscInt* row) {
    PetscFunctionBegin;
    PetscInt offset = 0;
    PetscCall(PetscSectionGetOffset(layout.section, point, &offset));
    const bool is_inside = offset >= layout.first && offset <= layout.end - layout.n_component;
    *row = is_inside ? (offset - layout.first) / layout.n_component : 0;
    PetscCheck(is_inside && offset == layout.first + *row * layout.n_component &&
                   !PetscBTLookupSet(taken, *row),
               PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "the global section of the DMPlex puts the %" PetscInt_FMT
               " values of point %" PetscInt_FMT " at offset %" PetscInt_FMT
               ", expected a row of its own in [%" PetscInt_FMT ", %" PetscInt_FMT
               "), the range of this rank in global vectors; let DMGetGlobalSection create the "
               "section",
               layout.n_component, point, offset, layout.first, layout.end);
    PetscFunctionReturn(0);
}

/// Writes x (n_point, n_axis) in the order of the global vectors. `taken` has n_point cleared bits.
PetscErrorCode place_points(DM dm, const Layout& layout, const Coordinates& coordinates,
                            PetscBT taken, PetscScalar* x) {
    PetscFunctionBegin;
    PetscInt begin = 0, end = 0, n = 0, row = 0;
    PetscCall(PetscSectionGetChart(layout.section, &begin, &end));
    for (PetscInt point = begin; point < end; ++point) {
        PetscCall(n_values(layout.section, point, &n));
        if (n == 0) continue;
        PetscCall(take_row(layout, point, taken, &row));
        PetscScalar* const at = x + std::ptrdiff_t(row) * coordinates.n_axis;
        PetscCall(layout.at_cells ? place_cell(dm, coordinates.n_axis, point, at)
                                  : place_vertex(coordinates, point, at));
    }
    PetscFunctionReturn(0);
}

/// Writes x (n_point, n_axis). Allocates marks and reads coordinates for the time of this call.
/// Local.
PetscErrorCode place_all(DM dm, const Layout& layout, Coordinates coordinates, PetscScalar* x) {
    PetscFunctionBegin;
    PetscCheck(coordinates.vec, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG,
               "the DMPlex has no coordinates; set them first (DMSetCoordinatesLocal)");
    PetscBT taken = nullptr;
    PetscCall(VecGetLocalSize(coordinates.vec, &coordinates.n_value));
    PetscCall(VecGetArrayRead(coordinates.vec, &coordinates.data));
    PetscErrorCode error = PetscBTCreate(layout.n_point, &taken);
    if (!error) error = place_points(dm, layout, coordinates, taken, x);
    PetscCall(PetscBTDestroy(&taken));
    PetscCall(VecRestoreArrayRead(coordinates.vec, &coordinates.data));
    PetscCall(error);
    PetscFunctionReturn(0);
}

/// Creates the domain of the points x (n_point, n_axis), which this function allocates. An error of
/// one rank is raised on all. Collective.
PetscErrorCode create_domain(surrogate_context* context, DM dm, const Layout& layout,
                             const Coordinates& coordinates, PetscScalar** x,
                             surrogate_domain** domain) {
    PetscFunctionBegin;
    const AttemptResult outcome = agree(
        context, attempt([&]() -> PetscErrorCode {
            const auto n_point = std::size_t(layout.n_point);
            const PetscErrorCode error = PetscMalloc1(n_point * std::size_t(coordinates.n_axis), x);
            return error ? error : place_all(dm, layout, coordinates, *x);
        }));
    PetscCheck(outcome, PETSC_COMM_SELF, outcome.error, "%s", outcome.text.c_str());
    surrogate_points points{};
    points.x = scalar_array(*x, layout.n_point, coordinates.n_axis, coordinates.n_axis);
    PetscCallSurrogate(surrogate_domain_create_points(context, &points, domain));
    PetscFunctionReturn(0);
}

}  // namespace

PetscErrorCode create_plex_domain(surrogate_context* context, DM dm, surrogate_domain** domain) {
    PetscFunctionBegin;
    Layout layout;
    Coordinates coordinates;
    PetscScalar* x = nullptr;
    PetscCall(find_layout(dm, &layout));
    PetscCall(find_coordinates(dm, &coordinates));
    const PetscErrorCode error = create_domain(context, dm, layout, coordinates, &x, domain);
    PetscCall(PetscFree(x));
    PetscCall(error);
    PetscFunctionReturn(0);
}

}  // namespace surrogate::petsc
