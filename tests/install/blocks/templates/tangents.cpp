// needs: surrogate
#include <surrogate/surrogate.hpp>
void multiply(surrogate::Plan& plan, double* v, double* jv, std::int64_t n) {
    @block@
}
int main() {}
