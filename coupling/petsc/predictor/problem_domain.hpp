// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <surrogate/surrogate_petsc.h>

#include "coupling/petsc/predictor/problem.hpp"
#include "coupling/petsc/predictor/settings.hpp"

namespace surrogate::petsc {

/// Creates the domain of a problem's points, in the order of its vectors. The coordinates are the
/// first of: a Vec composed under the name "coordinates" (its block size is the number of axes);
/// the file of the options; the box of the options, for a DMDA; the DM's coordinates. Collective.
PetscErrorCode create_problem_domain(surrogate_context* context, const Problem& problem,
                                     const Settings& settings, surrogate_domain** domain);

/// State by which a change of the unknowns' coordinates is detected.
struct DomainStamp {
    PetscObjectId dm = 0, coordinates = 0;
    PetscObjectState state = 0;  ///< of the coordinates
    PetscInt n_local = 0;        ///< length of the solution

    bool operator==(const DomainStamp&) const = default;
};
PetscErrorCode stamp_of(const Problem& problem, DomainStamp* stamp);

}  // namespace surrogate::petsc
