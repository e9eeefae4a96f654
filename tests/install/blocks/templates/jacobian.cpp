// needs: surrogate_petsc
#include <surrogate/surrogate_petsc.h>
PetscErrorCode multiply(surrogate_plan* plan, Vec mobility, Vec pressure, Vec w, Vec g) {
    PetscFunctionBegin;
    @block@
    PetscFunctionReturn(0);
}
int main() {}
