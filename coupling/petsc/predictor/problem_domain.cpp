// SPDX-License-Identifier: Apache-2.0
#include "problem_domain.hpp"

#include <petsc/private/petscimpl.h>
#include <petscdmda.h>

#include "coupling/petsc/domain_vec.hpp"
#include "coupling/petsc/predictor/coordinates_file.hpp"

namespace surrogate::petsc {

namespace {

constexpr const char* coordinates_name = "coordinates";

PetscErrorCode create_from_vec(surrogate_context* context, Vec coordinates,
                               surrogate_domain** domain) {
    PetscFunctionBegin;
    PetscInt n_axis = 0, n = 0;
    PetscCall(VecGetBlockSize(coordinates, &n_axis));
    PetscCall(VecGetLocalSize(coordinates, &n));
    PetscCall(create_from_coordinates(context, coordinates, n_axis, nullptr, n / n_axis, domain));
    PetscFunctionReturn(0);
}

PetscErrorCode create_from_file(surrogate_context* context, const Problem& problem,
                                const Settings& settings, surrogate_domain** domain) {
    PetscFunctionBegin;
    Vec coordinates = nullptr;
    PetscCall(read_coordinates(settings.coordinates_file, settings.flag("coordinates_file"),
                               problem.solution, &coordinates));
    const PetscErrorCode error = create_from_vec(context, coordinates, domain);
    PetscCall(VecDestroy(&coordinates));
    PetscCall(error);
    PetscFunctionReturn(0);
}

/// The first and the last point of an axis. Unknowns are on both ends of the box, or on the first
/// end only for a periodic axis. Unknowns at cell centers are half a cell inside.
struct Axis {
    PetscReal first, last;
};
Axis axis_of(const Settings& settings, std::size_t axis, PetscInt n, DMBoundaryType boundary) {
    const PetscReal low = settings.box[2 * axis], high = settings.box[2 * axis + 1];
    if (!settings.at_cell_centers) return {low, high};
    const PetscReal half = (high - low) / PetscReal(2 * n);
    // PETSc divides a periodic axis by n, others by n - 1.
    return {low + half, boundary == DM_BOUNDARY_PERIODIC ? high + half : high - half};
}

PetscErrorCode set_box(DM dm, const Settings& settings) {
    PetscFunctionBegin;
    PetscInt n_axis = 0, n[3] = {1, 1, 1};
    DMBoundaryType boundary[3] = {DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE};
    PetscCall(DMDAGetInfo(dm, &n_axis, &n[0], &n[1], &n[2], nullptr, nullptr, nullptr, nullptr,
                          nullptr, &boundary[0], &boundary[1], &boundary[2], nullptr));
    PetscCheck(settings.n_box == 2 * n_axis, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG,
               "%s has %" PetscInt_FMT " numbers, the DMDA has %" PetscInt_FMT
               " axes; two numbers an axis",
               settings.flag("box").c_str(), settings.n_box, n_axis);
    Axis axes[3] = {};
    for (std::size_t axis = 0; axis < std::size_t(n_axis); ++axis)
        axes[axis] = axis_of(settings, axis, n[axis], boundary[axis]);
    PetscCall(DMDASetUniformCoordinates(dm, axes[0].first, axes[0].last, axes[1].first,
                                        axes[1].last, axes[2].first, axes[2].last));
    PetscFunctionReturn(0);
}

/// Creates the domain on a copy of the DMDA, so that the program's DMDA does not change. PETSc
/// copies coordinates to the copy, and DMDASetUniformCoordinates recurses endlessly on a DMDA that
/// has coordinates.
PetscErrorCode create_from_box(surrogate_context* context, DM dm, const Settings& settings,
                               surrogate_domain** domain) {
    PetscFunctionBegin;
    DM copy = nullptr;
    PetscCall(DMClone(dm, &copy));
    PetscErrorCode error = DMSetCoordinates(copy, nullptr);
    if (!error) error = set_box(copy, settings);
    if (!error) error = surrogate_domain_create_dm(context, copy, domain);
    PetscCall(DMDestroy(&copy));
    PetscCall(error);
    PetscFunctionReturn(0);
}

/// Raises an error for a DMDA without coordinates. Its remedy is the box, which needs no change of
/// the program.
PetscErrorCode check_coordinates(DM dm, bool is_da, const Settings& settings) {
    PetscFunctionBegin;
    Vec coordinates = nullptr;  // borrowed
    PetscCall(DMGetCoordinates(dm, &coordinates));
    PetscCheck(coordinates || !is_da, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE,
               "the DMDA has no coordinates; %s x0,x1,y0,y1,.. gives them (with %s if unknowns are "
               "at cell centers), or DMDASetUniformCoordinates",
               settings.flag("box").c_str(), settings.flag("cell_centers").c_str());
    PetscFunctionReturn(0);
}

}  // namespace

PetscErrorCode create_problem_domain(surrogate_context* context, const Problem& problem,
                                     const Settings& settings, surrogate_domain** domain) {
    PetscFunctionBegin;
    Vec composed = nullptr;  // borrowed
    PetscCall(problem.find_composed(coordinates_name, &composed));
    if (composed) {
        PetscCall(create_from_vec(context, composed, domain));
        PetscFunctionReturn(0);
    }
    if (!settings.coordinates_file.empty()) {
        PetscCall(create_from_file(context, problem, settings, domain));
        PetscFunctionReturn(0);
    }
    const char* const kind = problem.kind();
    PetscCheck(
        problem.dm, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE,
        "neither the %s nor its matrix and vectors have a DM, so the locations of the unknowns "
        "are not known; call %sSetDM with a DMDA or DMPlex%s, compose a Vec of coordinates "
        "with one component per axis (PetscObjectCompose((PetscObject)%s, \"%s\", "
        "(PetscObject)vec)), or name a file of them with %s FILE",
        kind, kind, problem.matrix ? " (and KSPSetDMActive(ksp, PETSC_FALSE))" : "",
        problem.matrix ? "matrix" : "snes", coordinates_name,
        settings.flag("coordinates_file").c_str());
    PetscBool is_da = PETSC_FALSE;
    PetscCall(PetscObjectTypeCompare(reinterpret_cast<PetscObject>(problem.dm), DMDA, &is_da));
    if (is_da && settings.n_box > 0) {
        PetscCall(create_from_box(context, problem.dm, settings, domain));
    } else {
        PetscCall(check_coordinates(problem.dm, is_da, settings));
        PetscCall(surrogate_domain_create_dm(context, problem.dm, domain));
    }
    PetscFunctionReturn(0);
}

PetscErrorCode stamp_of(const Problem& problem, DomainStamp* stamp) {
    PetscFunctionBegin;
    *stamp = {};
    Vec coordinates = nullptr;  // borrowed
    PetscCall(problem.find_composed(coordinates_name, &coordinates));
    if (!coordinates && problem.dm) PetscCall(DMGetCoordinates(problem.dm, &coordinates));
    if (problem.dm)
        PetscCall(PetscObjectGetId(reinterpret_cast<PetscObject>(problem.dm), &stamp->dm));
    if (coordinates) {
        const PetscObject object = reinterpret_cast<PetscObject>(coordinates);
        PetscCall(PetscObjectGetId(object, &stamp->coordinates));
        PetscCall(PetscObjectStateGet(object, &stamp->state));
    }
    PetscCall(VecGetLocalSize(problem.solution, &stamp->n_local));
    PetscFunctionReturn(0);
}

}  // namespace surrogate::petsc
