/* needs: surrogate_petsc */
#include <petscdmda.h>
#include <petscdmplex.h>
#include <petscksp.h>
#include <surrogate/surrogate_petsc.h>
PetscErrorCode solve(MPI_Comm comm, DM dm, KSP ksp, Vec a, surrogate_context* context,
                     surrogate_plan* plan, surrogate_vec_field in, surrogate_vec_field out) {
    PetscInt first, end, c;
    surrogate_domain* domain;
    @block@
    return 0;
}
int main(void) { return 0; }
