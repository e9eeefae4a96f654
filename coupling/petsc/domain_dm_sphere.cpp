// SPDX-License-Identifier: Apache-2.0
#include <petscdmda.h>
#include <surrogate/surrogate_petsc.h>

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "check_dm.hpp"
#include "log_events.hpp"

namespace {

using surrogate::petsc::check_da;
using surrogate::petsc::check_dm_comm;
using surrogate::petsc::EventScope;
using surrogate::petsc::find_event;

PetscErrorCode check_grid(DM dm) {
    PetscFunctionBegin;
    PetscInt n_axis = 0;
    DMBoundaryType east = DM_BOUNDARY_NONE, north = DM_BOUNDARY_NONE;
    PetscCall(DMDAGetInfo(dm, &n_axis, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                          nullptr, nullptr, &east, &north, nullptr, nullptr));
    PetscCheck(n_axis == 2, PETSC_COMM_SELF, PETSC_ERR_SUP,
               "the DMDA has %" PetscInt_FMT
               " dimensions; a grid on the sphere has 2: x along longitude, y along latitude",
               n_axis);
    PetscCheck(east == DM_BOUNDARY_PERIODIC && north != DM_BOUNDARY_PERIODIC, PETSC_COMM_SELF,
               PETSC_ERR_ARG_INCOMP,
               "the boundary types of the DMDA are %s in x and %s in y; a grid on the sphere is "
               "periodic in x (longitude) alone",
               DMBoundaryTypes[east], DMBoundaryTypes[north]);
    PetscFunctionReturn(0);
}

/// Sets the block that this rank owns. x is the fastest index of its vectors, which is the
/// library's default.
PetscErrorCode set_block(DM dm, surrogate_sphere* sphere) {
    PetscFunctionBegin;
    PetscInt n_x = 0, n_y = 0, x = 0, y = 0, width = 0, height = 0;
    PetscCall(DMDAGetInfo(dm, nullptr, &n_x, &n_y, nullptr, nullptr, nullptr, nullptr, nullptr,
                          nullptr, nullptr, nullptr, nullptr, nullptr));
    PetscCall(DMDAGetCorners(dm, &x, &y, nullptr, &width, &height, nullptr));
    sphere->n_lat = n_y;
    sphere->n_lon = n_x;
    sphere->first_lat = y;
    sphere->n_lat_local = height;
    sphere->first_lon = x;
    sphere->n_lon_local = width;
    PetscFunctionReturn(0);
}

/// Writes the longitudes of the first row and the latitudes of the first column. *wrong is the
/// first point that does not match them, or -1. x: (n_point, 2), degrees.
void split_coordinates(const PetscScalar* x, const surrogate_sphere& sphere, double* latitude,
                       double* longitude, int64_t* wrong) {
    constexpr double tolerance = 1e-3;  // degrees: single precision passes
    const int64_t n_lon = sphere.n_lon_local;
    *wrong = -1;
    for (int64_t i = 0; i < sphere.n_lat_local; ++i) latitude[i] = double(x[2 * i * n_lon + 1]);
    for (int64_t j = 0; j < n_lon; ++j) longitude[j] = double(x[2 * j]);
    for (int64_t p = sphere.n_lat_local * n_lon - 1; p >= 0; --p) {
        const double east = std::abs(double(x[2 * p]) - longitude[p % n_lon]);
        const double north = std::abs(double(x[2 * p + 1]) - latitude[p / n_lon]);
        if (!(east <= tolerance && north <= tolerance)) *wrong = p;
    }
}

/// Raises an error on all ranks if `wrong` is set on one rank.
PetscErrorCode check_rows(MPI_Comm comm, const PetscScalar* x, const surrogate_sphere& sphere,
                          int64_t wrong) {
    PetscFunctionBegin;
    PetscMPIInt rank = 0, size = 0;
    PetscCallMPI(MPI_Comm_rank(comm, &rank));
    PetscCallMPI(MPI_Comm_size(comm, &size));
    PetscMPIInt first = wrong < 0 ? size : rank, all = size;
    PetscCallMPI(MPI_Allreduce(&first, &all, 1, MPI_INT, MPI_MIN, comm));
    PetscCheck(wrong < 0, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG,
               "the point (%" PetscInt_FMT ", %" PetscInt_FMT
               ") of the DMDA lies at (%g, %g), away from its row and column; coordinates are "
               "(longitude, latitude) in degrees, the same latitude along x",
               PetscInt(sphere.first_lon + wrong % sphere.n_lon_local),
               PetscInt(sphere.first_lat + wrong / sphere.n_lon_local), double(x[2 * wrong]),
               double(x[2 * wrong + 1]));
    PetscCheck(all == size, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG,
               "rank %d has points of the DMDA that are not on rows and columns; its message says "
               "where",
               all);
    PetscFunctionReturn(0);
}

PetscErrorCode create_from_coordinates(surrogate_context* context, DM dm, Vec coordinates,
                                       surrogate_sphere sphere, surrogate_domain** domain) {
    PetscFunctionBegin;
    double *latitude = nullptr, *longitude = nullptr;
    const PetscScalar* x = nullptr;
    int64_t wrong = -1;
    PetscCall(PetscMalloc2(std::size_t(sphere.n_lat_local), &latitude,
                           std::size_t(sphere.n_lon_local), &longitude));
    PetscCall(VecGetArrayRead(coordinates, &x));
    split_coordinates(x, sphere, latitude, longitude, &wrong);
    sphere.latitude = latitude;
    sphere.longitude = longitude;
    const PetscErrorCode error =
        check_rows(PetscObjectComm(reinterpret_cast<PetscObject>(dm)), x, sphere, wrong);
    surrogate_status status = SURROGATE_SUCCESS;
    if (!error) status = surrogate_domain_create_sphere(context, &sphere, domain);
    PetscCall(VecRestoreArrayRead(coordinates, &x));
    PetscCall(PetscFree2(latitude, longitude));
    PetscCall(error);
    PetscCallSurrogate(status);
    PetscFunctionReturn(0);
}

PetscErrorCode create(surrogate_context* context, DM dm, surrogate_sphere sphere,
                      surrogate_domain** domain) {
    PetscFunctionBegin;
    Vec coordinates = nullptr;  // borrowed
    PetscCall(DMGetCoordinates(dm, &coordinates));
    if (!coordinates) {
        PetscCallSurrogate(surrogate_domain_create_sphere(context, &sphere, domain));
        PetscFunctionReturn(0);
    }
    PetscInt n_axis = 0;
    PetscCall(DMGetCoordinateDim(dm, &n_axis));
    PetscCheck(n_axis == 2, PETSC_COMM_SELF, PETSC_ERR_SUP,
               "the coordinates of the DMDA have %" PetscInt_FMT
               " components; they are (longitude, latitude) in degrees",
               n_axis);
    PetscCall(create_from_coordinates(context, dm, coordinates, sphere, domain));
    PetscFunctionReturn(0);
}

}  // namespace

extern "C" PetscErrorCode surrogate_domain_create_dm_sphere(surrogate_context* context, DM dm,
                                                            const char* grid,
                                                            PetscBool south_to_north,
                                                            surrogate_domain** domain) {
    PetscFunctionBegin;
    PetscCheck(context && dm && grid && domain, PETSC_COMM_SELF, PETSC_ERR_ARG_NULL,
               "context, dm, grid or domain is NULL");
    PetscLogEvent event = 0;
    PetscCall(find_event("SurrPlan", &event));
    EventScope scope(event);
    PetscCall(check_dm_comm(context, dm));
    PetscCall(check_da(dm));
    PetscCall(check_grid(dm));
    surrogate_sphere sphere = {};
    sphere.grid = grid;
    sphere.south_to_north = south_to_north ? 1 : 0;
    PetscCall(set_block(dm, &sphere));
    PetscCall(create(context, dm, sphere, domain));
    PetscFunctionReturn(0);
}
