/* needs: surrogate */
#include <surrogate/surrogate.h>
void solve(surrogate_context* context, int64_t first_row, int64_t n_row) {
    surrogate_domain* domain;
    @block@
}
int main(void) { return 0; }
