/* SPDX-License-Identifier: Apache-2.0
 * C99: the arrays that the header makes describe the memory they were made of. */
#include <stdio.h>
#include <surrogate/surrogate.h>

static int n_failed = 0;

static void expect(int holds, const char* what) {
    if (holds) return;
    ++n_failed;
    fprintf(stderr, "failed: %s (%s)\n", what, surrogate_error(NULL));
}

static int is(surrogate_array a, const void* data, int64_t n, int64_t n_column, int64_t stride,
              int32_t dtype) {
    return a.data == data && a.shape[0] == n && a.shape[1] == n_column && a.stride[0] == stride &&
           a.stride[1] == 1 && a.dtype == dtype && a.space == SURROGATE_HOST;
}

int main(void) {
    static const double x[5][2] = {{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}};
    static const float u[4][3] = {{0}};
    surrogate_points points = {0}, kept = {0};
    surrogate_context* context = NULL;
    surrogate_domain* domain = NULL;

    expect(is(surrogate_column_f64(&x[0][1], 5, 2), &x[0][1], 5, 1, 2, SURROGATE_FLOAT64),
           "column of doubles");
    expect(is(surrogate_column_f32(&u[0][2], 4, 3), &u[0][2], 4, 1, 3, SURROGATE_FLOAT32),
           "column of floats");
    expect(is(surrogate_matrix_f64(&x[0][0], 5, 2), x, 5, 2, 2, SURROGATE_FLOAT64),
           "matrix of doubles");
    expect(is(surrogate_matrix_f32(&u[0][0], 4, 3), u, 4, 3, 3, SURROGATE_FLOAT32),
           "matrix of floats");

    points.x = surrogate_matrix_f64(&x[0][0], 5, 2);
    expect(surrogate_context_create(NULL, &context) == SURROGATE_SUCCESS, "context");
    expect(surrogate_domain_create_points(context, &points, &domain) == SURROGATE_SUCCESS,
           "domain");
    expect(surrogate_domain_points(domain, &kept) == SURROGATE_SUCCESS, "points");
    if (kept.x.data) {
        const double* const at = (const double*)kept.x.data;
        expect(at[3 * kept.x.stride[0] + kept.x.stride[1]] == 7, "coordinate 1 of point 3");
    }
    surrogate_domain_destroy(&domain);
    surrogate_context_destroy(&context);
    return n_failed;
}
