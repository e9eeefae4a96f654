// SPDX-License-Identifier: Apache-2.0
#include "check_dm.hpp"

#include <petscdmda.h>
#include <surrogate/surrogate_mpi.h>

namespace surrogate::petsc {

PetscErrorCode check_dm_comm(const surrogate_context* context, DM dm) {
    PetscFunctionBegin;
    MPI_Comm comm = PetscObjectComm(reinterpret_cast<PetscObject>(dm));
    int same = MPI_UNEQUAL;
    PetscCallSurrogate(surrogate_context_compare_comm(context, comm, &same));
    PetscCheck(same == MPI_IDENT || same == MPI_CONGRUENT, PETSC_COMM_SELF,
               PETSC_ERR_ARG_NOTSAMECOMM,
               "the DM is on another communicator than the context; create the context from "
               "PetscObjectComm((PetscObject)dm)");
    PetscFunctionReturn(0);
}

PetscErrorCode check_da(DM dm) {
    PetscFunctionBegin;
    PetscBool is_da = PETSC_FALSE;
    PetscCall(PetscObjectTypeCompare(reinterpret_cast<PetscObject>(dm), DMDA, &is_da));
    DMType type = nullptr;
    PetscCall(DMGetType(dm, &type));
    PetscCheck(
        is_da, PETSC_COMM_SELF, PETSC_ERR_SUP,
        "the DM has type %s, expected da or plex (for grids on the sphere da); for other meshes %s",
        type ? type : "(none)", points_remedy);
    PetscFunctionReturn(0);
}

}  // namespace surrogate::petsc
