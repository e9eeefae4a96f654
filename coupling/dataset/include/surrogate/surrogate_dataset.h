/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SURROGATE_DATASET_H
#define SURROGATE_DATASET_H

/* Writes data sets for training: fields of many samples in one HDF5 file that h5py, xarray and
 * netCDF's tools open (page reference/dataset-format.md says the layout). C99; no MPI and no HDF5
 * in this header.
 *
 *     surrogate_dataset *set = NULL;
 *     surrogate_dataset_create(context, "fields.h5", &set);
 *     surrogate_dataset_add_axis(set, "sample", n_sample);
 *     surrogate_dataset_add_axis(set, "point", n_point);
 *     surrogate_dataset_add(set, &pressure);                      a variable over sample and point
 *     surrogate_dataset_begin(set);
 *     surrogate_dataset_set_points(set, domain);
 *     for (s = 0; s < n_sample; ++s)
 *         surrogate_dataset_write(set, "pressure", s * n_point, &p);
 *     surrogate_dataset_finish(set);
 *
 * The file gets its name in surrogate_dataset_finish; until then the content is in
 * "<path>.surrogate.tmp". Its bytes are the same for any number of ranks and any partition.
 *
 * These functions only write. To read a data set its source must be trusted, since HDF5 may crash
 * in metadata that is damaged; `surrogate train` opens it in a process of its own first.
 *
 * "Collective" and "local" as in surrogate.h. Calls that describe the file are local and made alike
 * on all ranks, which surrogate_dataset_begin checks. One thread at a time. Since 0.1 */

#include <surrogate/surrogate.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct surrogate_dataset surrogate_dataset;

/* A data set that will be written to `path`. The context must live as long as the data set. Nothing
 * is written yet. Collective. Errors: INVALID_ARGUMENT (NULL), NO_MEMORY. */
SURROGATE_API surrogate_status surrogate_dataset_create(surrogate_context* context,
                                                        const char* path,
                                                        surrogate_dataset** dataset);

/* A text attribute of the file: title, source (program, seed, options), grid of a sphere, ..
 * Setting it again replaces. Local. Errors: INVALID_ARGUMENT (Conventions, surrogate_dataset and
 * created_by are the library's; after begin). */
SURROGATE_API surrogate_status surrogate_dataset_set(surrogate_dataset* dataset, const char* key,
                                                     const char* text);

/* An axis of n positions, such as sample, time, x, point, lat. A variable of the same name, over
 * this axis alone, gives its numbers. Local. Errors: INVALID_ARGUMENT (a name that is empty, taken
 * or has '/' or control characters; after begin), SHAPE (n below 1). */
SURROGATE_API surrogate_status surrogate_dataset_add_axis(surrogate_dataset* dataset,
                                                          const char* name, int64_t n);

/* A variable: a field, a coordinate, or what the page names besides (weight, offset).
 *   name       a vector is a variable a component: velocity.x, velocity.y
 *   unit       as on a model's card; NULL: no attribute
 *   long_name  for readers; NULL: no attribute
 *   axis       "X", "Y" or "Z": this is a coordinate; NULL: it is not
 *   axes       [n_axis] names of axes that were added, the slowest first; 1 .. 8
 *   dtype      SURROGATE_FLOAT32, SURROGATE_FLOAT64 or SURROGATE_INT64, as stored */
typedef struct surrogate_variable {
    const char* name;
    const char* unit;
    const char* long_name;
    const char* axis;
    const char* const* axes;
    int32_t n_axis;
    int32_t dtype;
} surrogate_variable;

/* Local; the texts are copied. Errors: INVALID_ARGUMENT (as of axes; a variable of an axis' name
 * that has other axes; dtype), UNKNOWN_NAME (an axis), LIMIT (more than 2^62 bytes). */
SURROGATE_API surrogate_status surrogate_dataset_add(surrogate_dataset* dataset,
                                                     const surrogate_variable* variable);

/* Ends the description and makes "<path>.surrogate.tmp", on a file system that all ranks see.
 * Collective. Errors: IO (folder, permission, no room), INVALID_ARGUMENT (ranks that describe
 * different files; no variable), NO_MEMORY. */
SURROGATE_API surrogate_status surrogate_dataset_begin(surrogate_dataset* dataset);

/* Whose points the ranks have in the calls of surrogate_dataset_write that follow. The domain may
 * be destroyed afterwards; call this again when its points have moved. Collective. Errors: those of
 * surrogate_ordering_create. */
SURROGATE_API surrogate_status surrogate_dataset_set_points(surrogate_dataset* dataset,
                                                            const surrogate_domain* domain);

/* Writes one number for each point, in the order of surrogate_ordering. Collective.
 *   first  where the points begin among the variable's numbers in C order: sample * n_point;
 *          (sample * n_time + time) * n_point; of samples of different sizes offset[sample]
 *   array  [n_local, 1] of float or double, this rank's points in the order of the domain (of a
 *          block of a sphere row by row, one behind the other whatever its steps); on the host
 * Takes no memory after the first call. Errors, the same on all ranks: UNKNOWN_NAME, SHAPE,
 * INVALID_ARGUMENT (no points were set; before begin, after finish), NOT_FINITE (names variable and
 * number; also of doubles that no float32 holds), IO. */
SURROGATE_API surrogate_status surrogate_dataset_write(surrogate_dataset* dataset, const char* name,
                                                       int64_t first, const surrogate_array* array);

/* Writes numbers first .. first + n - 1 of a variable, as they are: samples that one rank has
 * whole, coordinates, weights. Local; no two ranks write the same numbers.
 *   array  [n, 1] of float or double; of int32 or int64 for an int64 variable
 * Errors: those of surrogate_dataset_write, on this rank; surrogate_dataset_finish tells the
 * others. */
SURROGATE_API surrogate_status surrogate_dataset_put(surrogate_dataset* dataset, const char* name,
                                                     int64_t first, const surrogate_array* array);

/* Brings the content to the disk and gives the file its name, if every number was written and no
 * call has failed since begin; otherwise the file that had the name stays. Collective. Errors: the
 * first of an earlier write; INVALID_ARGUMENT (numbers that are missing or were written twice, with
 * the name of the variable), IO. */
SURROGATE_API surrogate_status surrogate_dataset_finish(surrogate_dataset* dataset);

/* Without finish before it removes what was written. Local. */
SURROGATE_API void surrogate_dataset_destroy(surrogate_dataset** dataset);

#ifdef __cplusplus
}
#endif

#endif
