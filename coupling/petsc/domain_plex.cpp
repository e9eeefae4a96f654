// SPDX-License-Identifier: Apache-2.0
#include "domain_plex.hpp"

#include <petscdmplex.h>

#include <algorithm>
#include <array>
#include <limits>

#include "scalar_array.hpp"

namespace surrogate::petsc {

namespace {

/// Points [first, end) of the mesh, all cells or all vertices.
struct Stratum {
    PetscInt first, end;
    bool has(PetscInt point) const { return point >= first && point < end; }
};

/// What the owned points hold in the global vectors.
struct Layout {
    PetscSection section = nullptr;  // of the global vectors, borrowed
    bool at_cells = false;
    PetscInt n_component = 0;  // values a point
    PetscInt n_point = 0;      // of this rank
    PetscInt first = 0;        // offset of this rank's first value
};

/// Unknowns of this rank, and the smallest and largest number of them on a point that has some.
struct Census {
    PetscInt on_cells = 0, on_vertices = 0, elsewhere = 0;
    PetscInt fewest = std::numeric_limits<PetscInt>::max(), most = 0;
};

/// Values of an owned point in the global vectors: without those that are constrained.
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

/// Over all ranks: ranks without points have the layout of the others.
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
        "the section of the DMPlex has unknowns on %s%s%s; domains are made from unknowns on "
        "cells alone or vertices alone, for others pass the coordinates of the owned points "
        "to surrogate_domain_create_points",
        census.on_cells ? "cells " : "", census.on_vertices ? "vertices " : "",
        census.elsewhere ? "edges or faces " : "");
    PetscCheck(census.fewest == census.most, PETSC_COMM_SELF, PETSC_ERR_SUP,
               "the section of the DMPlex has %" PetscInt_FMT " to %" PetscInt_FMT
               " values a point in the global vectors (constrained ones are left out); domains are "
               "made from points with as many each",
               census.fewest, census.most);
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
    PetscCall(sum_up(PetscObjectComm(reinterpret_cast<PetscObject>(dm)), &census));
    PetscCall(check_census(census));
    layout->at_cells = census.on_cells > 0;
    layout->n_component = census.most;
    PetscCall(PetscSectionGetOffsetRange(layout->section, &layout->first, nullptr));
    PetscFunctionReturn(0);
}

/// Coordinates of vertices, as the DM holds them on this rank.
struct VertexCoordinates {
    PetscSection section = nullptr;  // borrowed
    Vec vec = nullptr;               // borrowed
    const PetscScalar* data = nullptr;
};

PetscErrorCode place_point(DM dm, const Layout& layout, const VertexCoordinates& vertices,
                           PetscInt n_axis, PetscInt point, PetscScalar* x) {
    PetscFunctionBegin;
    std::array<PetscReal, 3> center{};
    if (layout.at_cells) {
        PetscCall(DMPlexComputeCellGeometryFVM(dm, point, nullptr, center.data(), nullptr));
        std::copy_n(center.begin(), n_axis, x);
    } else {
        PetscInt offset = 0;
        PetscCall(PetscSectionGetOffset(vertices.section, point, &offset));
        std::copy_n(vertices.data + offset, n_axis, x);
    }
    PetscFunctionReturn(0);
}

/// x (n_point, n_axis) in the order of the global vectors.
PetscErrorCode place_points(DM dm, const Layout& layout, const VertexCoordinates& vertices,
                            PetscInt n_axis, PetscScalar* x) {
    PetscFunctionBegin;
    PetscInt begin = 0, end = 0, n = 0, offset = 0;
    PetscCall(PetscSectionGetChart(layout.section, &begin, &end));
    for (PetscInt point = begin; point < end; ++point) {
        PetscCall(n_values(layout.section, point, &n));
        if (n == 0) continue;
        PetscCall(PetscSectionGetOffset(layout.section, point, &offset));
        const PetscInt row = (offset - layout.first) / layout.n_component;
        PetscCall(place_point(dm, layout, vertices, n_axis, point, x + row * n_axis));
    }
    PetscFunctionReturn(0);
}

PetscErrorCode place_all(DM dm, const Layout& layout, PetscInt n_axis, PetscScalar* x) {
    PetscFunctionBegin;
    VertexCoordinates vertices;
    PetscCall(DMGetCoordinateSection(dm, &vertices.section));
    PetscCall(DMGetCoordinatesLocal(dm, &vertices.vec));
    PetscCall(VecGetArrayRead(vertices.vec, &vertices.data));
    const PetscErrorCode error = place_points(dm, layout, vertices, n_axis, x);
    PetscCall(VecRestoreArrayRead(vertices.vec, &vertices.data));
    PetscCall(error);
    PetscFunctionReturn(0);
}

}  // namespace

PetscErrorCode create_plex_domain(surrogate_context* context, DM dm, surrogate_domain** domain) {
    PetscFunctionBegin;
    Layout layout;
    PetscInt n_axis = 0;
    PetscScalar* x = nullptr;
    PetscCall(find_layout(dm, &layout));
    PetscCall(DMGetCoordinateDim(dm, &n_axis));
    PetscCall(PetscMalloc1(std::size_t(layout.n_point * n_axis), &x));
    PetscErrorCode error = place_all(dm, layout, n_axis, x);
    surrogate_points points{};
    points.x = scalar_array(x, layout.n_point, n_axis, n_axis);
    surrogate_status status = SURROGATE_SUCCESS;
    if (!error) status = surrogate_domain_create_points(context, &points, domain);
    PetscCall(PetscFree(x));
    PetscCall(error);
    PetscCallSurrogate(status);
    PetscFunctionReturn(0);
}

}  // namespace surrogate::petsc
