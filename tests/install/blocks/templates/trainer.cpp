// needs: surrogate
#include <surrogate/surrogate_train.hpp>
void solve(surrogate::Model& model, surrogate::Domain& domain, const double* solved,
           int64_t n_local) {
    @block@
}
int main() {}
