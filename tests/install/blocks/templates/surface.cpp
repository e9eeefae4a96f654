// needs: surrogate_petsc
#include <surrogate/surrogate_mpi.hpp>
#include <surrogate/surrogate_petsc.h>
void solve(surrogate::Context& context, const double* xyz, const int64_t* global_id,
           int64_t n_owned, Vec features, Vec pressure) {
    @block@
}
int main() {}
