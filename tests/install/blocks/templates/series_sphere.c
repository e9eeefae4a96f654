/* needs: surrogate_vtk */
#include <stddef.h>
#include <surrogate/surrogate_vtk.h>
void solve(surrogate_series* series, double time_s, int64_t n_lat, int64_t n_lon, int64_t first,
           int64_t n_rows, const double* latitude, double radius, int is_last, int n_fields,
           surrogate_series_field* fields) {
    surrogate_piece mine;
    @block@
}
int main(void) { return 0; }
