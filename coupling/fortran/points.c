/* SPDX-License-Identifier: Apache-2.0
 * Points of a domain from views. Data that the C interface requires as contiguous int64_t or double
 * are copied if they are not. */
#include <stdlib.h>
#include <string.h>

#include "arrays.h"

static int64_t int64_at(const view* array, int64_t k) {
    const void* const at = view_at(array, k);
    return array->dtype == SURROGATE_INT64 ? *(const int64_t*)at : *(const int32_t*)at;
}

static double double_at(const view* array, int64_t k) {
    const void* const at = view_at(array, k);
    return array->dtype == SURROGATE_FLOAT64 ? *(const double*)at : *(const float*)at;
}

surrogate_status surrogate_fortran_copy(const view* array, const char* what, int32_t is_integer,
                                        int64_t n, void** copy) {
    *copy = NULL;
    if (!array) return SURROGATE_SUCCESS;
    const int32_t narrow = is_integer ? SURROGATE_INT32 : SURROGATE_FLOAT32;
    const int32_t wide = is_integer ? SURROGATE_INT64 : SURROGATE_FLOAT64;
    char found[160];
    view_describe(array, found, sizeof found);
    if (array->dtype != narrow && array->dtype != wide)
        return view_fail(SURROGATE_INVALID_ARGUMENT, "%s: expected %s; found %s", what,
                         is_integer ? "integer(4) or integer(8)" : "real(4) or real(8)", found);
    if (n >= 0 && view_size(array) != n)
        return view_fail(SURROGATE_SHAPE, "%s: expected a number for each of %lld points; found %s",
                         what, (long long)n, found);
    if (array->space != SURROGATE_HOST)
        return view_fail(SURROGATE_NOT_SUPPORTED, "%s: expected memory of the host", what);
    n = view_size(array);
    *copy = malloc(n > 0 ? (size_t)n * 8 : 1);
    if (!*copy) return view_fail(SURROGATE_NO_MEMORY, "%s: no memory for a copy", what);
    for (int64_t k = 0; k < n; ++k)
        if (is_integer)
            ((int64_t*)*copy)[k] = int64_at(array, k);
        else
            ((double*)*copy)[k] = double_at(array, k);
    return SURROGATE_SUCCESS;
}

void surrogate_fortran_free(void** memory) {
    free(*memory);
    *memory = NULL;
}

/* Returns coordinates x(n_axis, n_point ..) in place, or a copy if their points have no single
 * stride. */
static surrogate_status coordinates(const view* x, surrogate_array* rows, void** copy) {
    int64_t n, stride;
    view whole = *x;
    *copy = NULL;
    if (x->dtype != SURROGATE_FLOAT64 && x->dtype != SURROGATE_FLOAT32) {
        char found[160];
        view_describe(x, found, sizeof found);
        return view_fail(SURROGATE_INVALID_ARGUMENT,
                         "coordinates: expected real(4) or real(8) x(n_axis, n_point); found %s",
                         found);
    }
    if (x->n_dim >= 2 && !view_collapses(x, 1, &n, &stride)) {
        const surrogate_status status =
            surrogate_fortran_copy(x, "coordinates", 0, view_size(x), copy);
        if (status) return status;
        whole.data = *copy;
        whole.dtype = SURROGATE_FLOAT64;
        whole.stride[0] = 1;
        for (int32_t d = 1; d < x->n_dim; ++d)
            whole.stride[d] = whole.stride[d - 1] * whole.shape[d - 1];
    }
    return surrogate_fortran_rows(&whole, "coordinates", rows);
}

static surrogate_status pack(const view* x, const view* global_id, const view* cloud,
                             const view* weight, packed_points* packed) {
    const surrogate_status status = coordinates(x, &packed->points.x, &packed->copies[0]);
    if (status) return status;
    const int64_t n = packed->points.x.shape[0];
    const struct {
        const view* array;
        const char* name;
        int32_t is_integer;
    } parts[3] = {{global_id, "global_id", 1}, {cloud, "cloud", 1}, {weight, "weight", 0}};
    for (int i = 0; i < 3; ++i) {
        const surrogate_status copied = surrogate_fortran_copy(
            parts[i].array, parts[i].name, parts[i].is_integer, n, &packed->copies[i + 1]);
        if (copied) return copied;
    }
    packed->points.global_id = packed->copies[1];
    packed->points.cloud = packed->copies[2];
    packed->points.weight = packed->copies[3];
    return SURROGATE_SUCCESS;
}

surrogate_status surrogate_fortran_pack_points(const view* x, const view* global_id,
                                               const view* cloud, const view* weight,
                                               packed_points* packed) {
    memset(packed, 0, sizeof *packed);
    const surrogate_status status = pack(x, global_id, cloud, weight, packed);
    if (status) packed->points.x.dtype = -1;
    return status;
}

void surrogate_fortran_free_points(packed_points* packed) {
    for (int i = 0; i < 4; ++i) surrogate_fortran_free(&packed->copies[i]);
}
