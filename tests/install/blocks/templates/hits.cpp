// needs: surrogate
#include <surrogate/surrogate.hpp>
void solve(surrogate::Context& context, surrogate_array places, const int64_t* ids,
           const int64_t* events, const float* fields, float* embedding, int64_t n_hit) {
    @block@
}
int main() {}
