// SPDX-License-Identifier: Apache-2.0
#include "measure.hpp"

#include <ctime>

namespace airflow {

PetscErrorCode evaluate_pressure(const PotentialFlow& flow, const Surface& surface, Vec field) {
    PetscFunctionBegin;
    PetscScalar* coefficient = nullptr;
    PetscCall(VecGetArrayWrite(field, &coefficient));
    for (int64_t p = 0; p < surface.n_owned(); ++p) {
        const BoxGrid::Index index = surface.grid().point(surface.id()[p]);
        const Vector3 v = flow.velocity_at(surface.grid(), index, surface.normal()[p]);
        coefficient[p] = 1 - dot(v, v);  // Bernoulli: pressure over dynamic pressure
    }
    PetscCall(VecRestoreArrayWrite(field, &coefficient));
    PetscFunctionReturn(0);
}

PetscErrorCode relative_distance(Vec field, Vec reference, double* distance) {
    PetscFunctionBegin;
    Owner<Vec, VecDestroy> difference;
    PetscReal error = 0, whole = 0;
    PetscCall(VecDuplicate(field, difference.out()));
    PetscCall(VecWAXPY(difference, -1, reference, field));
    PetscCall(VecNorm(difference, NORM_2, &error));
    PetscCall(VecNorm(reference, NORM_2, &whole));
    *distance = error / whole;
    PetscFunctionReturn(0);
}

PetscErrorCode force_of(const Surface& surface, Vec coefficient, Vector3* force) {
    PetscFunctionBegin;
    PetscCall(surface.integrate(coefficient, force));
    *force = -1 * *force;
    PetscFunctionReturn(0);
}

double processor_seconds() {
    return double(std::clock()) / CLOCKS_PER_SEC;
}

PetscErrorCode slowest_rank(MPI_Comm comm, double seconds, double* slowest) {
    PetscFunctionBegin;
    *slowest = seconds;
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, slowest, 1, MPI_DOUBLE, MPI_MAX, comm));
    PetscFunctionReturn(0);
}

}  // namespace airflow
