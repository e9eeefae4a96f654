// needs: surrogate
#include <surrogate/surrogate.hpp>
void solve(surrogate::Plan& plan, double* u, int64_t nx, int64_t ny) {
    @block@
}
int main() {}
