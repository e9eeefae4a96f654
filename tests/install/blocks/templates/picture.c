/* needs: surrogate_vtk */
#include <surrogate/surrogate_vtk.h>
void draw(double* pressure, int64_t n) {
    @block@
}
int main(void) { return 0; }
