// needs: surrogate_mpi
#include <surrogate/surrogate_mpi.hpp>
void solve(MPI_Comm comm, int64_t first, int64_t n, const double* degrees_north, double* zeta) {
    @block@
}
int main() {}
