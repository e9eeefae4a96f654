/* SPDX-License-Identifier: Apache-2.0
 * Reads the descriptor of a type(*), dimension(..) argument. ISO_Fortran_binding.h belongs to the
 * Fortran compiler; only this file needs it. */
#include <ISO_Fortran_binding.h>
#include <string.h>

#include "arrays.h"

/* Returns the Fortran name of the type of an argument. */
static const char* name_of(CFI_type_t type) {
    if (type == CFI_type_float || type == CFI_type_double) return "real";
    if (type == CFI_type_int32_t || type == CFI_type_int64_t) return "integer";
    if (type == CFI_type_int8_t || type == CFI_type_int16_t) return "integer";
    if (type == CFI_type_float_Complex || type == CFI_type_double_Complex) return "complex";
    if (type == CFI_type_char) return "character";
    if (type == CFI_type_Bool) return "logical";
    if (type == CFI_type_struct || type == CFI_type_other) return "a derived type";
    return "a kind that C does not have,";
}

static int32_t dtype_of(CFI_type_t type) {
    if (type == CFI_type_double) return SURROGATE_FLOAT64;
    if (type == CFI_type_float) return SURROGATE_FLOAT32;
    if (type == CFI_type_int32_t) return SURROGATE_INT32;
    if (type == CFI_type_int64_t) return SURROGATE_INT64;
    return -1;
}

/* Returns 1 if the argument is a view: a scalar type(surrogate_array). */
static int is_view(const CFI_cdesc_t* array) {
    return array->rank == 0 && array->elem_len == sizeof(view) && array->base_addr != NULL &&
           ((const view*)array->base_addr)->mark == VIEW_MARK;
}

static void refuse(view* array, const char* found) {
    array->dtype = -1;
    array->found = found;
}

/* Returns the location of an array: surrogate_array_of of module surrogate. Never fails: an invalid
 * argument gets dtype -1, and its use is an error that describes it. */
SURROGATE_API view surrogate_fortran_array_of(const CFI_cdesc_t* array);
view surrogate_fortran_array_of(const CFI_cdesc_t* array) {
    if (is_view(array)) return *(const view*)array->base_addr;
    view result;
    memset(&result, 0, sizeof result);
    result.mark = VIEW_MARK;
    result.data = array->base_addr;
    result.n_byte = (int64_t)array->elem_len;
    result.dtype = dtype_of(array->type);
    result.space = SURROGATE_HOST;
    result.found = name_of(array->type);
    result.n_dim = array->rank < view_axes ? array->rank : view_axes;
    for (int32_t d = 0; d < result.n_dim; ++d) {
        const int64_t distance = array->dim[d].sm, extent = array->dim[d].extent;
        result.shape[d] = extent > 0 ? extent : 0;
        result.stride[d] = result.n_byte ? distance / result.n_byte : 0;
        if (extent > 1 && result.stride[d] * result.n_byte != distance)
            refuse(&result, "elements whose distance is not a multiple of their size,");
    }
    if (array->rank > view_axes) refuse(&result, "an array of more than 5 dimensions, elements");
    return result;
}
