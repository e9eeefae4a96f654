// needs: surrogate_petsc
#include <surrogate/surrogate_mpi.hpp>
#include <surrogate/surrogate_petsc.h>
void solve(surrogate::Context& context, const double* x, const int64_t* ids, int64_t n_owned,
           Vec distance, Vec temperature) {
    @block@
}
int main() {}
