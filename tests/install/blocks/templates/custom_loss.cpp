// needs: surrogate
#include <surrogate/surrogate_train.hpp>
#include <vector>
double residual(const std::vector<double>& pressure, std::vector<double>& derivative);
double residual(const std::vector<double>&, std::vector<double>&) { return 0; }
void solve(surrogate::Plan& plan, const std::vector<double>& pressure,
           std::vector<double>& derivative, int64_t n_local) {
    @block@
}
int main() {}
