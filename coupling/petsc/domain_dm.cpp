// SPDX-License-Identifier: Apache-2.0
#include <petscdmda.h>
#include <surrogate/surrogate_petsc.h>

#include <cstdint>

#include "check_dm.hpp"
#include "domain_plex.hpp"
#include "domain_vec.hpp"
#include "log_events.hpp"

namespace {

using surrogate::petsc::check_da;
using surrogate::petsc::check_dm_comm;
using surrogate::petsc::create_from_coordinates;
using surrogate::petsc::create_plex_domain;
using surrogate::petsc::EventScope;
using surrogate::petsc::find_event;

/// Returns the natural numbers of the n owned grid points, in the order of global vectors. The
/// caller frees them.
PetscErrorCode natural_ids(DM dm, int64_t** ids, int64_t* n) {
    PetscFunctionBegin;
    PetscInt n_x = 0, n_y = 0;  // of the whole grid
    PetscInt x = 0, y = 0, z = 0, width = 0, height = 0, depth = 0;
    PetscCall(DMDAGetInfo(dm, nullptr, &n_x, &n_y, nullptr, nullptr, nullptr, nullptr, nullptr,
                          nullptr, nullptr, nullptr, nullptr, nullptr));
    PetscCall(DMDAGetCorners(dm, &x, &y, &z, &width, &height, &depth));
    *n = int64_t{width} * height * depth;
    PetscCall(PetscMalloc1(static_cast<std::size_t>(*n), ids));
    int64_t* next = *ids;
    for (int64_t k = z; k < z + depth; ++k)
        for (int64_t j = y; j < y + height; ++j)
            for (int64_t i = x; i < x + width; ++i) *next++ = i + n_x * (j + n_y * k);
    PetscFunctionReturn(0);
}

PetscErrorCode create_da_domain(surrogate_context* context, DM dm, surrogate_domain** domain) {
    PetscFunctionBegin;
    PetscCall(check_da(dm));
    Vec coordinates = nullptr;  // borrowed
    PetscCall(DMGetCoordinates(dm, &coordinates));
    PetscCheck(
        coordinates, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE,
        "the DM has no coordinates; set them first (DMDASetUniformCoordinates, DMSetCoordinates)");
    PetscInt n_axis = 0;
    PetscCall(DMGetCoordinateDim(dm, &n_axis));
    int64_t* ids = nullptr;
    int64_t n_point = 0;
    PetscCall(natural_ids(dm, &ids, &n_point));
    const PetscErrorCode error =
        create_from_coordinates(context, coordinates, n_axis, ids, n_point, domain);
    PetscCall(PetscFree(ids));
    PetscCall(error);
    PetscFunctionReturn(0);
}

}  // namespace

extern "C" PetscErrorCode surrogate_domain_create_dm(surrogate_context* context, DM dm,
                                                     surrogate_domain** domain) {
    PetscFunctionBegin;
    PetscCheck(context && dm && domain, PETSC_COMM_SELF, PETSC_ERR_ARG_NULL,
               "context, dm or domain is NULL");
    PetscLogEvent event = 0;
    PetscCall(find_event("SurrPlan", &event));
    EventScope scope(event);
    PetscCall(check_dm_comm(context, dm));
    PetscBool is_plex = PETSC_FALSE;
    PetscCall(PetscObjectTypeCompare(reinterpret_cast<PetscObject>(dm), DMPLEX, &is_plex));
    PetscCall(is_plex ? create_plex_domain(context, dm, domain)
                      : create_da_domain(context, dm, domain));
    PetscFunctionReturn(0);
}
