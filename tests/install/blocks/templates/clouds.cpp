// needs: surrogate
#include <cstdint>
#include <surrogate/surrogate.hpp>
#include <vector>
void solve(surrogate::Context& context, surrogate::Model& model, std::int64_t n,
           std::int64_t points_per_problem, const double* x, const double* source,
           double* temperature) {
    @block@
}
int main() {}
