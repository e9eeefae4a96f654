/* needs: surrogate_dataset */
#include <stddef.h>
#include <surrogate/surrogate_dataset.h>
void solve(surrogate_context* context, surrogate_domain* domain, int64_t n_sample, int64_t n_point,
           surrogate_array p) {
    int64_t s;
    @block@
}
int main(void) { return 0; }
