/* needs: surrogate_petsc */
#include <petscdmda.h>
#include <petscksp.h>
#include <surrogate/surrogate_petsc.h>
PetscErrorCode solve(DM da, KSP ksp, Vec a, Vec b, Vec p, int n_step) {
    int step;
    @block@
    return 0;
}
int main(void) { return 0; }
