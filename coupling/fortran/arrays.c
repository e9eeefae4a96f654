/* SPDX-License-Identifier: Apache-2.0
 * Conversion of views to arguments of the C interface. */
#include "arrays.h"

#include <string.h>

static surrogate_status refuse_type(const char* what, const view* array, const char* wanted) {
    char found[160];
    view_describe(array, found, sizeof found);
    return view_fail(SURROGATE_INVALID_ARGUMENT, "%s: expected %s; found %s", what, wanted, found);
}

surrogate_status surrogate_fortran_rows(const view* array, const char* what,
                                        surrogate_array* rows) {
    memset(rows, 0, sizeof *rows);
    if (array->dtype < 0)
        return refuse_type(what, array, "numbers of a kind that the library takes");
    if (array->n_dim < 2)
        return view_fail(
            SURROGATE_SHAPE,
            "%s: expected an array whose first dimension runs over columns and whose others run "
            "over points; found rank %d; for one column make it (1, n_point)",
            what, (int)array->n_dim);
    if (!view_collapses(array, 1, &rows->shape[0], &rows->stride[0]))
        return view_fail(SURROGATE_SHAPE,
                         "%s: the points lie at no single distance; pass a contiguous array", what);
    rows->data = array->data;
    rows->shape[1] = array->shape[0];
    rows->stride[1] = array->stride[0];
    rows->dtype = array->dtype;
    rows->space = array->space;
    return SURROGATE_SUCCESS;
}

surrogate_status surrogate_fortran_column(const view* array, const char* what,
                                          surrogate_array* column) {
    view with_columns = *array;
    if (array->n_dim == view_axes)
        return view_fail(SURROGATE_SHAPE, "%s: a field has at most 4 dimensions, found 5", what);
    with_columns.n_dim = array->n_dim + 1;
    with_columns.shape[0] = 1;
    with_columns.stride[0] = 1;
    for (int32_t d = 0; d < array->n_dim; ++d) {
        with_columns.shape[d + 1] = array->shape[d];
        with_columns.stride[d + 1] = array->stride[d];
    }
    if (array->n_dim == 0) with_columns.shape[with_columns.n_dim++] = 1;
    return surrogate_fortran_rows(&with_columns, what, column);
}

static void to_block(const view* array, surrogate_block* block) {
    memset(block, 0, sizeof *block);
    block->data = array->data;
    block->n_dim = array->n_dim;
    block->dtype = array->dtype;
    block->space = array->space;
    for (int32_t d = 0; d < array->n_dim; ++d) {
        block->shape[d] = array->shape[d];
        block->stride[d] = array->stride[d];
    }
}

/* Returns the array with axis `axis` first, followed by the other axes in their order. */
static view with_first(const view* array, int32_t axis) {
    view result = *array;
    result.shape[0] = array->shape[axis];
    result.stride[0] = array->stride[axis];
    for (int32_t d = 0, to = 1; d < array->n_dim; ++d) {
        if (d == axis) continue;
        result.shape[to] = array->shape[d];
        result.stride[to++] = array->stride[d];
    }
    return result;
}

surrogate_status surrogate_fortran_field_rows(const view* array, const char* what,
                                              int32_t component_dim, surrogate_array* rows) {
    if (component_dim < 0 || component_dim > array->n_dim)
        return view_fail(SURROGATE_SHAPE, "%s: component_dim is %d, the array has rank %d", what,
                         (int)component_dim, (int)array->n_dim);
    if (component_dim == 0) return surrogate_fortran_column(array, what, rows);
    view turned = with_first(array, component_dim - 1);
    if (turned.n_dim == 1) {
        turned.shape[turned.n_dim] = 1;
        turned.stride[turned.n_dim++] = 1;
    }
    return surrogate_fortran_rows(&turned, what, rows);
}

surrogate_status surrogate_fortran_bind(bind_array as_array, bind_block as_block, void* object,
                                        const char* name, const char* unit, const view* array,
                                        int32_t component_dim) {
    int64_t n, stride;
    if (array->dtype != SURROGATE_FLOAT64 && array->dtype != SURROGATE_FLOAT32)
        return refuse_type(name, array, "real(4) or real(8)");
    const int32_t is_row = component_dim != 0 || array->n_dim == 0 || array->n_dim > 4 ||
                           view_collapses(array, 0, &n, &stride);
    if (as_array && is_row) {
        surrogate_array rows;
        const surrogate_status status =
            surrogate_fortran_field_rows(array, name, component_dim, &rows);
        return status ? status : as_array(object, name, unit, &rows);
    }
    if (array->n_dim < 1 || array->n_dim > 4)
        return view_fail(SURROGATE_SHAPE, "%s: a block has 1 to 4 dimensions, found %d", name,
                         (int)array->n_dim);
    surrogate_block block;
    to_block(array, &block);
    return as_block(object, name, unit, &block);
}

surrogate_status surrogate_fortran_tensor(const view* array, const char* name,
                                          surrogate_tensor* tensor) {
    memset(tensor, 0, sizeof *tensor);
    if (array->dtype < 0) return refuse_type(name, array, "real(4) or real(8)");
    if (!surrogate_fortran_is_contiguous(array))
        return view_fail(SURROGATE_SHAPE, "tensor %s: expected a contiguous array", name);
    tensor->name = name;
    tensor->data = array->data;
    tensor->n_dim = array->n_dim;
    tensor->dtype = array->dtype;
    for (int32_t d = 0; d < array->n_dim; ++d)
        tensor->shape[d] = array->shape[array->n_dim - 1 - d];
    return SURROGATE_SUCCESS;
}
