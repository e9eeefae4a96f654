// needs: surrogate
#include <surrogate/surrogate.hpp>
#include <vector>
void solve(surrogate::Context& context, surrogate::Model& model, const double* none, int32_t* token,
           float* logits, const int64_t* position, int64_t n_local, int64_t n_label) {
    @block@
}
int main() {}
