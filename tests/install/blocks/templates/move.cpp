// needs: surrogate
#include <surrogate/surrogate.hpp>
void solve(surrogate::Domain& domain, surrogate::Plan& plan, const double* xy,
           const double* mobility, int64_t n_local, const int64_t* global_id) {
    @block@
}
int main() {}
