/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SURROGATE_FORTRAN_ARRAYS_H
#define SURROGATE_FORTRAN_ARRAYS_H

/* Arrays of the Fortran modules, and their conversion to arguments of the C interface. C99: users
 * may compile it with the C compiler that belongs to their Fortran compiler. */

#include <surrogate/surrogate.h>

enum { view_axes = 5 };

/* Description of an array in the modules, equal to type(surrogate_array). Element (i1, i2, ..),
 * counted from 0, is at data + sum of i_k stride[k], counted in elements of n_byte bytes; the
 * first axis is Fortran's first.
 *   n_dim   0 (a scalar) .. 5
 *   dtype   SURROGATE_FLOAT32, ..; -1: an unsupported type, or elements whose distance is not a
 *           whole number of elements
 *   space   SURROGATE_HOST or SURROGATE_CUDA
 *   mark    VIEW_MARK: distinguishes a view from another derived type of the same size
 *   found   type of the argument, for messages: "real", "a derived type", or a sentence; NULL: a
 *           view created by surrogate_make_array */
typedef struct surrogate_fortran_view {
    int64_t mark;
    void* data;
    int64_t shape[view_axes];
    int64_t stride[view_axes];
    int64_t n_byte;
    const char* found;
    int32_t n_dim;
    int32_t dtype;
    int32_t space;
    int32_t reserved;
} view;

#define VIEW_MARK INT64_C(0x7375727261727279)

/* Returns the product of the extents; 1 for a scalar. */
int64_t view_size(const view* array);

/* Returns 1 if the elements are contiguous, first axis fastest. */
SURROGATE_API int32_t surrogate_fortran_is_contiguous(const view* array);

/* Combines axes first .. n_dim - 1 into one: returns the number of points and their stride. Axes of
 * extent 1 are ignored. Returns 0 if there is no such stride. */
int32_t view_collapses(const view* array, int32_t first, int64_t* n, int64_t* stride);

/* Returns the address of element k of the array, first axis fastest. */
const void* view_at(const view* array, int64_t k);

/* Reports a failure as the library does: stores the text, returns the status. */
surrogate_status view_fail(surrogate_status status, const char* format, ...)
    __attribute__((format(printf, 2, 3)));

/* Writes a description of the argument, such as "real(8), shape 3 x 40", to text. */
void view_describe(const view* array, char* text, int64_t n_text);

/* ---- called from Fortran; `what` begins a message -------------------------------------------- */

/* Converts an array to rows: axis 0 becomes the columns, the other axes together the rows. */
SURROGATE_API surrogate_status surrogate_fortran_rows(const view* array, const char* what,
                                                      surrogate_array* rows);

/* Converts an array to one column: every element is a point, first axis fastest. */
SURROGATE_API surrogate_status surrogate_fortran_column(const view* array, const char* what,
                                                        surrogate_array* column);

/* Converts a field with surrogate_fortran_column, or, for a vector, surrogate_fortran_rows.
 *   component_dim  0: every dimension runs over points; 1 ..: this one runs over the components of
 *                  a vector, the others over points */
SURROGATE_API surrogate_status surrogate_fortran_field_rows(const view* array, const char* what,
                                                            int32_t component_dim,
                                                            surrogate_array* rows);

/* Functions of the C interface that bind a field. */
typedef surrogate_status (*bind_array)(void* object, const char* name, const char* unit,
                                       const surrogate_array* array);
typedef surrogate_status (*bind_block)(void* object, const char* name, const char* unit,
                                       const surrogate_block* block);

/* Binds a field by the suitable one of two functions; as_array NULL: blocks only. */
SURROGATE_API surrogate_status surrogate_fortran_bind(bind_array as_array, bind_block as_block,
                                                      void* object, const char* name,
                                                      const char* unit, const view* array,
                                                      int32_t component_dim);

/* Converts an array to a whole, row-major tensor: Fortran's t(n2, n1) is C's [n1][n2]. */
SURROGATE_API surrogate_status surrogate_fortran_tensor(const view* array, const char* name,
                                                        surrogate_tensor* tensor);

/* Copies the numbers of an array to new memory as contiguous double or int64_t.
 *   is_integer  1: int64_t, from integer(4) or integer(8); 0: double, from real(4) or real(8)
 *   n           required number; -1: any
 *   array       NULL: *copy is NULL. Freed by surrogate_fortran_free */
SURROGATE_API surrogate_status surrogate_fortran_copy(const view* array, const char* what,
                                                      int32_t is_integer, int64_t n, void** copy);
SURROGATE_API void surrogate_fortran_free(void** memory);

/* Points of the C interface, and the copies that they need, which surrogate_fortran_free_points
 * frees. On error the coordinates have an invalid type: a collective function that gets them
 * returns an error on all ranks, and no rank blocks. global_id, cloud and weight may be NULL. */
typedef struct packed_points {
    surrogate_points points;
    void* copies[4];
} packed_points;
SURROGATE_API surrogate_status surrogate_fortran_pack_points(const view* x, const view* global_id,
                                                             const view* cloud, const view* weight,
                                                             packed_points* packed);
SURROGATE_API void surrogate_fortran_free_points(packed_points* packed);

#endif
