/* needs: surrogate_mpi */
#include <stdio.h>
#include <surrogate/surrogate_mpi.h>
void run(surrogate_plan* plan, int rank) {
    @block@
}
int main(void) { return 0; }
