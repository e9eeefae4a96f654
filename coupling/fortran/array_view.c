/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>

#include "arrays.h"

int64_t view_size(const view* array) {
    int64_t n = 1;
    for (int32_t d = 0; d < array->n_dim; ++d) n *= array->shape[d];
    return n;
}

int32_t view_collapses(const view* array, int32_t first, int64_t* n, int64_t* stride) {
    int64_t next = 0;
    *n = 1;
    *stride = 1;
    for (int32_t d = first; d < array->n_dim; ++d) *n *= array->shape[d];
    if (*n <= 1) return 1;
    for (int32_t d = first; d < array->n_dim; ++d) {
        if (array->shape[d] == 1) continue;
        if (next == 0)
            *stride = array->stride[d];
        else if (array->stride[d] != next)
            return 0;
        next = array->stride[d] * array->shape[d];
    }
    return 1;
}

int32_t surrogate_fortran_is_contiguous(const view* array) {
    int64_t n, stride;
    return view_collapses(array, 0, &n, &stride) && stride == 1;
}

const void* view_at(const view* array, int64_t k) {
    int64_t at = 0;
    for (int32_t d = 0; d < array->n_dim; ++d) {
        at += k % array->shape[d] * array->stride[d];
        k /= array->shape[d];
    }
    return (const char*)array->data + at * array->n_byte;
}

surrogate_status view_fail(surrogate_status status, const char* format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return surrogate_context_fail(NULL, status, text);
}

void view_describe(const view* array, char* text, int64_t n_text) {
    int used = snprintf(text, (size_t)n_text, "%s of %lld bytes, %s",
                        array->found ? array->found : "numbers", (long long)array->n_byte,
                        array->n_dim ? "shape" : "a scalar");
    for (int32_t d = 0; d < array->n_dim && used < n_text; ++d)
        used += snprintf(text + used, (size_t)(n_text - used), "%s%lld", d ? " x " : " ",
                         (long long)array->shape[d]);
}
