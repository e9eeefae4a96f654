/* needs: surrogate_vtk */
@block@
int main(void) { return surrogate_vtk_error()[0]; }
