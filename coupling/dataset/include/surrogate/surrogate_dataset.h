/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SURROGATE_DATASET_H
#define SURROGATE_DATASET_H

/* Writes data sets for training: fields of many samples in one HDF5 file that h5py, xarray and
 * netCDF's tools open (layout: page reference/dataset-format.md). C99; this header includes neither
 * MPI nor HDF5.
 *
 *     surrogate_dataset *set = NULL;
 *     surrogate_dataset_create(context, "fields.h5", &set);
 *     surrogate_dataset_add_axis(set, "sample", n_sample);
 *     surrogate_dataset_add_axis(set, "point", n_point);
 *     surrogate_dataset_add(set, &pressure);       // a variable over sample and point
 *     surrogate_dataset_begin(set);
 *     surrogate_dataset_set_points(set, domain);
 *     for (s = 0; s < n_sample; ++s)
 *         surrogate_dataset_write(set, "pressure", s * n_point, &p);
 *     surrogate_dataset_finish(set);
 *
 * surrogate_dataset_finish renames "<path>.surrogate.tmp", which holds the content until then, to
 * path. The bytes of the file are the same for any number of ranks and any partition.
 *
 * These functions only write. Read data sets from trusted sources only, since HDF5 may crash on
 * damaged metadata; `surrogate train` first opens the file in a separate process.
 *
 * "Collective" and "local" as in surrogate.h. Calls that describe the file are local; all ranks
 * make the same ones, which surrogate_dataset_begin checks. One thread at a time. Since 0.1 */

#include <surrogate/surrogate.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A data set that is being written. */
typedef struct surrogate_dataset surrogate_dataset;

/* Creates a data set that surrogate_dataset_finish stores as `path`. Writes nothing yet. The
 * context must live as long as the data set, which the caller destroys. Collective.
 * Errors: INVALID_ARGUMENT (NULL), NO_MEMORY. */
SURROGATE_API surrogate_status surrogate_dataset_create(surrogate_context* context,
                                                        const char* path,
                                                        surrogate_dataset** dataset);

/* Sets a text attribute of the file: title, source (program, seed, options), grid of a sphere, ..
 * A second call with the same key replaces the text, which is copied. Local.
 * Errors: INVALID_ARGUMENT (Conventions, surrogate_dataset and created_by are reserved; after
 * begin). */
SURROGATE_API surrogate_status surrogate_dataset_set(surrogate_dataset* dataset, const char* key,
                                                     const char* text);

/* Adds an axis of length n, such as sample, time, x, point, lat. A variable of the same name over
 * this axis alone holds its coordinates. Local. Errors: INVALID_ARGUMENT (a name that is empty,
 * already used, or has '/' or control characters; after begin), SHAPE (n below 1). */
SURROGATE_API surrogate_status surrogate_dataset_add_axis(surrogate_dataset* dataset,
                                                          const char* name, int64_t n);

/* Describes a variable: a field, a coordinate, a number per sample or, over the axis "cloud" as
 * well, per cloud, or another variable of the format (weight, cloud_index, offset). */
typedef struct surrogate_variable {
    const char* name;        /* a vector has one variable per component: velocity.x, velocity.y */
    const char* unit;        /* as on a model's card; NULL: no attribute */
    const char* long_name;   /* for readers; NULL: no attribute */
    const char* axis;        /* of a coordinate "X", "Y", "Z", or "4" .. "8"; else NULL */
    const char* const* axes; /* [n_axis] names of axes that were added, slowest first */
    int32_t n_axis;          /* 1 .. 8 */
    int32_t dtype;           /* stored as SURROGATE_FLOAT32, SURROGATE_FLOAT64 or SURROGATE_INT64 */
} surrogate_variable;

/* Adds a variable to the description of the data set. The texts are copied. Local.
 * Errors: INVALID_ARGUMENT (a name that surrogate_dataset_add_axis would reject; a variable named
 * as an axis but defined over other axes; dtype), UNKNOWN_NAME (an axis), LIMIT (more than 2^62
 * bytes). */
SURROGATE_API surrogate_status surrogate_dataset_add(surrogate_dataset* dataset,
                                                     const surrogate_variable* variable);

/* Ends the description and creates "<path>.surrogate.tmp", on a file system that all ranks share.
 * Collective. Errors: IO (folder, permission, disk space), INVALID_ARGUMENT (ranks that describe
 * different files; no variable), NO_MEMORY. */
SURROGATE_API surrogate_status surrogate_dataset_begin(surrogate_dataset* dataset);

/* Sets the domain whose points the following calls of surrogate_dataset_write write. The domain may
 * be destroyed afterwards; call this again after its points have moved. Collective. Errors: those
 * of surrogate_ordering_create. */
SURROGATE_API surrogate_status surrogate_dataset_set_points(surrogate_dataset* dataset,
                                                            const surrogate_domain* domain);

/* Writes one value per point, in the canonical ordering of surrogate_ordering. Collective.
 *   first  index of the first point among the variable's values in C order: sample * n_point;
 *          (sample * n_time + time) * n_point; offset[sample] if samples have different sizes
 *   array  [n_local, 1] of float or double on the host, of int32 or int64 for an int64 variable:
 *          this rank's points in the order of the domain (for a block of a sphere row by row,
 *          contiguous whatever its strides)
 * Allocates nothing after the first call. Errors, the same on all ranks: UNKNOWN_NAME, SHAPE,
 * INVALID_ARGUMENT (no points were set; before begin, after finish), NOT_FINITE (with variable and
 * index; also for doubles outside the range of float32), IO. */
SURROGATE_API surrogate_status surrogate_dataset_write(surrogate_dataset* dataset, const char* name,
                                                       int64_t first, const surrogate_array* array);

/* Writes values first .. first + n - 1 of a variable without reordering: samples that one rank
 * holds completely, coordinates, weights, numbers per sample or cloud. Local; two ranks must not
 * write the same values.
 *   array  [n, 1] of float or double; of int32 or int64 for an int64 variable
 * Errors: as surrogate_dataset_write, on this rank; surrogate_dataset_finish returns them on the
 * others. */
SURROGATE_API surrogate_status surrogate_dataset_put(surrogate_dataset* dataset, const char* name,
                                                     int64_t first, const surrogate_array* array);

/* Flushes the content to disk and renames the file to its path, if every value was written and no
 * call has failed since begin; otherwise an existing file of that path is kept. Collective.
 * Errors: the first of an earlier write; INVALID_ARGUMENT (values that are missing or were written
 * twice, with the name of the variable), IO. */
SURROGATE_API surrogate_status surrogate_dataset_finish(surrogate_dataset* dataset);

/* Frees the data set. Deletes the temporary file if surrogate_dataset_finish was not called. Local.
 * Accepts NULL, sets the handle to NULL. Errors: none. */
SURROGATE_API void surrogate_dataset_destroy(surrogate_dataset** dataset);

#ifdef __cplusplus
}
#endif

#endif
