// needs: surrogate_timeloop
#include <surrogate/surrogate.hpp>
#include <surrogate/surrogate_timeloop.hpp>
void my_step(double);
void my_step(double) {}
void solve(surrogate::Plan& plan, double* height, int64_t n, double dt_s, double end) {
    @block@
}
int main() {}
