// needs: surrogate_timeloop
#include <surrogate/surrogate_timeloop.hpp>
bool converged();
bool converged() { return true; }
void exchange_interface_values();
void exchange_interface_values() {}
void solve(surrogate::TimeLoop& loop, double dt_s) {
    @block@
}
int main() {}
