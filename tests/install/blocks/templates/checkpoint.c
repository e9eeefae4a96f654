/* needs: surrogate_timeloop */
#include <surrogate/surrogate_timeloop.h>
void solve(surrogate_timeloop* loop) {
    @block@
}
int main(void) { return 0; }
