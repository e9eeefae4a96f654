// needs: surrogate
#include <surrogate/surrogate.hpp>
void solve(surrogate::Model& model, surrogate::Domain& domain, double* mobility, double* pressure,
           double* w, double* g, const double* measured, std::int64_t n) {
    @block@
}
int main() {}
