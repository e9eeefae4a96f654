/* needs: surrogate_petsc */
#include <petscdmda.h>
#include <surrogate/surrogate_petsc.h>
PetscErrorCode solve(MPI_Comm comm, Vec state, surrogate_context* context, PetscInt n_lon,
                     PetscInt n_lat) {
    DM da;
    surrogate_domain* domain;
    @block@
    return 0;
}
int main(void) { return 0; }
