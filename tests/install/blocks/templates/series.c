/* needs: surrogate_mpi surrogate_vtk */
#include <stddef.h>
#include <surrogate/surrogate_mpi.h>
#include <surrogate/surrogate_vtk.h>
void solve(MPI_Comm comm, int rank, int size, int n_steps, double time_s, surrogate_image image,
           int n_fields, surrogate_series_field* fields, surrogate_piece* all) {
    @block@
}
int main(void) { return 0; }
