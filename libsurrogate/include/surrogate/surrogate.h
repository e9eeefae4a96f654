/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SURROGATE_H
#define SURROGATE_H

/* libsurrogate: learned attention surrogates inside MPI solvers. The C interface (C99) is the
 * binary interface.
 *
 *   context   communicator + options, once per job
 *   model     one file: network, weights, fields with units and ranges
 *   domain    where the points are, as the solver has them
 *   plan      model x domain, built once, run every step
 *
 * Conventions
 * - Every function returns a status; results come back through trailing pointers. surrogate_error()
 *   gives the text.
 * - "Collective" means over the communicator of the context: all ranks call it, and all return the
 *   same status with the text of the first rank that failed. Other functions are local.
 * - Handles are opaque. Objects may be destroyed in any order; each keeps what it needs alive.
 *   Destroying takes the address of the handle, accepts NULL and sets it to NULL. Destroying the
 *   last object of a context frees its communicator: do that on all its ranks (after MPI_Finalize
 *   it only frees memory).
 * - Functions copy texts out by a pair (text, n_text): *n_text is the size of `text` in bytes on
 *   entry (text may be NULL: only ask) and the size needed, with the final zero, on return. Too
 *   small a buffer is SURROGATE_SHAPE and leaves a truncated text. Three functions cannot fail and
 *   return a text instead, to be printed at once: surrogate_version, surrogate_status_name,
 *   surrogate_error. A name inside a struct belongs to the object that the struct was asked from,
 *   and lives as long as that.
 * - Structs are passed by address, are plain data and never change size; what else is needed comes
 *   as a new function. Set them to zero before filling them in.
 * - Fields, ports, tensors, axes, components and ranks count from 0, in every language.
 * - What is given as input is only read: also the memory behind surrogate_array.data, which is not
 *   const because the same struct describes outputs.
 * - The library never prints, exits, aborts, initialises MPI or uses the world communicator.
 * - A context and the objects made from it are used by one thread at a time. A call that changes or
 *   runs a plan, or a trainer of the plan, while another call works on it (of another thread, or
 *   above it on the stack: a log function) returns INVALID_ARGUMENT at once and changes nothing.
 *   The refusal is local: a collective call that is refused takes no part in exchanges. Its text is
 *   that of surrogate_error(NULL).
 * - After a run with more than one thread a process that fork() makes must not run plans: OpenMP
 *   has no threads there, and waits for them. dlclose() is harmless: the library stays.
 * Pages named here lie in share/doc/surrogate of an installation, in share/doc of the sources. */

#include <stdint.h>

#if defined(_WIN32)
#define SURROGATE_API
#else
#define SURROGATE_API __attribute__((visibility("default")))
#endif

#define SURROGATE_VERSION_MAJOR 0
#define SURROGATE_VERSION_MINOR 2
#define SURROGATE_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

/* ---- status ---------------------------------------------------------------------------------- */

typedef int32_t surrogate_status;
enum {
    SURROGATE_SUCCESS = 0,
    SURROGATE_INVALID_ARGUMENT = 1, /* null pointer, wrong order of calls, value not allowed */
    SURROGATE_UNKNOWN_NAME = 2,     /* no such field, option or tensor; near misses are listed */
    SURROGATE_SHAPE = 3,            /* extents, strides or counts that do not fit */
    SURROGATE_IO = 4,               /* a file cannot be opened, read or written */
    SURROGATE_BAD_FILE = 5,         /* a file was read and is not a valid model file */
    SURROGATE_NOT_SUPPORTED = 6,    /* valid, but not built or not possible here */
    SURROGATE_NO_MEMORY = 7,        /* an allocation failed */
    SURROGATE_NOT_FINITE = 8,       /* NaN or infinity in a field, or from another rank */
    SURROGATE_LIMIT = 9,            /* a count does not fit the type that must carry it */
    SURROGATE_MPI = 10,             /* an MPI call failed */
    SURROGATE_BROKEN = 11,          /* the context is unusable since an earlier failure of MPI, NCCL
                                       or the device; the text is that of the failure */
    SURROGATE_INTERNAL = 12,        /* a defect of this library */
    SURROGATE_DEVICE = 13,          /* a call of the device's runtime or of NCCL failed */
    SURROGATE_OUT_OF_RANGE = 14,    /* range=error: an input outside the card's range */
    SURROGATE_CALLBACK = 15         /* a function of the caller failed: it threw an exception */
};

typedef struct surrogate_options surrogate_options;
typedef struct surrogate_context surrogate_context;
typedef struct surrogate_model surrogate_model;
typedef struct surrogate_check_case surrogate_check_case;
typedef struct surrogate_domain surrogate_domain;
typedef struct surrogate_plan surrogate_plan;

/* "0.2.0", of the library that is running (the macros above are those it was compiled against). */
SURROGATE_API const char* surrogate_version(void);

/* "SHAPE" for SURROGATE_SHAPE, ..; never NULL. */
SURROGATE_API const char* surrogate_status_name(surrogate_status status);

/* Text of the last failure on this context: what was asked, what was found, what would help. "" if
 * there was none. context NULL: of this thread's last failed call, whatever its context (also when
 * no context could be created), those of surrogate_vtk.h included. The text stays valid until the
 * next failure. UTF-8, without control characters but line feeds. */
SURROGATE_API const char* surrogate_error(const surrogate_context* context);

/* ---- arrays ---------------------------------------------------------------------------------- */

enum {
    SURROGATE_FLOAT32 = 0,
    SURROGATE_FLOAT64 = 1,
    SURROGATE_INT32 = 2,
    SURROGATE_INT64 = 3,
    SURROGATE_UINT8 = 4
};
enum { SURROGATE_HOST = 0, SURROGATE_CUDA = 1 };

/* A strided array of the caller: element (i, j) lies at data + i * stride[0] + j * stride[1],
 * counted in elements.
 *   shape[0]  points this rank owns (ghost points left out)
 *   shape[1]  components; 1 for a single field
 *   dtype     SURROGATE_FLOAT32 or SURROGATE_FLOAT64 for real numbers; SURROGATE_INT32 or
 *             SURROGATE_INT64 for network ports that take integers
 *   space     where data lies: SURROGATE_HOST, or SURROGATE_CUDA for memory of the plan's device
 *             (fields of plans with backend cuda, which take both kinds, mixed as they come). Such
 *             plans check each pointer when it is bound: INVALID_ARGUMENT for another kind of memory
 * Fortran's u(n_field, n_point) is shape {n_point, n_field}, stride {n_field, 1}: the same memory.
 * Strides may be negative; an input may have stride 0 (one number for all points). Elements of an
 * output must not share memory: ordered by size, each stride exceeds the distance that the smaller
 * ones span (SHAPE). More than 2^63 - 1 bytes are LIMIT, strides that lead out of the address space
 * SHAPE. data may be NULL if shape[0] or shape[1] is 0. */
typedef struct surrogate_array {
    void* data;
    int64_t shape[2];
    int64_t stride[2];
    int32_t dtype;
    int32_t space;
} surrogate_array;

/* Arrays of the host in C: a column of n numbers, `stride` elements apart, and n rows of n_column
 * numbers side by side, such as coordinates. Of field f in an interlaced array u[n][n_field]:
 * surrogate_column_f64(u + f, n, n_field). data is not const in the result, which may be an output:
 * what is given as input is only read. In C++: surrogate::column, surrogate::matrix. */
static inline surrogate_array surrogate_make_array_(const void* data, int64_t n, int64_t n_column,
                                                    int64_t stride, int32_t dtype) {
    surrogate_array array;
    array.data = (void*)data;
    array.shape[0] = n;
    array.shape[1] = n_column;
    array.stride[0] = stride;
    array.stride[1] = 1;
    array.dtype = dtype;
    array.space = SURROGATE_HOST;
    return array;
}
static inline surrogate_array surrogate_column_f64(const double* data, int64_t n, int64_t stride) {
    return surrogate_make_array_(data, n, 1, stride, SURROGATE_FLOAT64);
}
static inline surrogate_array surrogate_column_f32(const float* data, int64_t n, int64_t stride) {
    return surrogate_make_array_(data, n, 1, stride, SURROGATE_FLOAT32);
}
static inline surrogate_array surrogate_matrix_f64(const double* data, int64_t n,
                                                   int64_t n_column) {
    return surrogate_make_array_(data, n, n_column, n_column, SURROGATE_FLOAT64);
}
static inline surrogate_array surrogate_matrix_f32(const float* data, int64_t n, int64_t n_column) {
    return surrogate_make_array_(data, n, n_column, n_column, SURROGATE_FLOAT32);
}

/* One field in the inner points of an array of up to 4 axes, such as a block with ghost cells. Point
 * i = i0 + shape[0] * (i1 + shape[1] * (i2 + ..)) lies at data + i0 * stride[0] + i1 * stride[1] +
 * .., counted in elements: the first axis runs fastest, as in Fortran's u(1:n_x, 1:n_y).
 *   shape   of axes 0 .. n_dim - 1; their product is the number of points
 *   dtype   SURROGATE_FLOAT32 or SURROGATE_FLOAT64
 *   space   SURROGATE_HOST
 * Strides, sizes and outputs as in surrogate_array. data may be NULL if an extent is 0. */
typedef struct surrogate_block {
    void* data;
    int64_t shape[4];
    int64_t stride[4];
    int32_t n_dim; /* 1 .. 4 */
    int32_t dtype;
    int32_t space;
    int32_t reserved; /* 0 */
} surrogate_block;

/* A named array: a network-level tensor of surrogate_plan_run_network. */
typedef struct surrogate_named_array {
    const char* name;
    surrogate_array array;
} surrogate_named_array;

/* A named tensor of up to 8 axes, whole and row-major: a weight of a model, or a tensor of a check
 * case. data may be NULL if an extent is 0. */
typedef struct surrogate_tensor {
    const char* name;
    const void* data;
    int64_t shape[8];
    int32_t n_dim;
    int32_t dtype;
} surrogate_tensor;

/* ---- options --------------------------------------------------------------------------------- */

/* Key = value pairs. Keys and values are checked when set; unknown keys are errors that list near
 * misses.
 *   threads       1, 2, .. or auto    threads of this rank; auto: the smaller of cores allowed /
 *                                     ranks on the node and of what OpenMP gives its caller when
 *                                     the plan is made (OMP_NUM_THREADS, omp_set_num_threads). The
 *                                     reason stands in surrogate_context_describe
 *   vector        auto, avx512, avx2, scalar
 *   backend       auto, ref, simd, cuda
 *                 auto: simd; nothing moves to a device by itself
 *   precision     fp32                the accuracy of single precision, on every backend
 *                 fp64                only with backend ref
 *                 tf32, fp16, bf16    only with backend cuda: operands of products in this type,
 *                                     sums and everything else in fp32 (page how-to/use-gpus.md)
 *   device        auto, 0, 1, ..      backend cuda: the device, as the runtime counts; auto: that
 *                                     which is current in the calling thread. A context has one,
 *                                     opened with it or by its first plan that wants one
 *   timeout_s     0, 1, ..            backend cuda: a wait for work that holds reductions over
 *                                     ranks fails after so many seconds (SURROGATE_DEVICE); 0: no
 *                                     limit. Taken when the device is opened
 *   reproducible  false, true         the same bits for any number of ranks, partition, threads and
 *                 vector width
 *   check_finite  true, false         run reports NaN and infinity that it meets
 *                 (SURROGATE_NOT_FINITE)
 *   agree         false, true         run brings the status and text of the first rank at fault to
 *                 all ranks; one small reduction a run
 *   range         count, warn, error  inputs outside the card's ranges (surrogate_plan_range).
 *                 count: counted; warn: also one line a field through the log, at the first run
 *                 that meets it; error: run then returns SURROGATE_OUT_OF_RANGE, after all
 *                 exchanges and with its predictions written
 *   coordinates   card, network       what the coordinates of a domain are. card: those of the
 *                 model's card, in its units, which the plan normalises (and takes as they are if
 *                 the card names no inputs). network: what the network takes, normalised already;
 *                 ranges of coordinates are then compared in the network's numbers
 *   gradients     false               the plan only predicts
 *                 true, recompute     the plan can be trained (surrogate_train.h): it predicts the
 *                                     same bits and keeps what going back needs; recompute: less
 *                                     memory, more time. Backends ref and simd; cuda for FLARE,
 *                                     with arrays on the host
 * Given to a context they are the defaults of its plans; given to a plan they apply to that plan.
 */
SURROGATE_API surrogate_status surrogate_options_create(surrogate_options** options);
SURROGATE_API surrogate_status surrogate_options_set(surrogate_options* options, const char* key,
                                                     const char* value);
SURROGATE_API void surrogate_options_destroy(surrogate_options** options);

/* ---- context --------------------------------------------------------------------------------- */

/* A context of one rank, without MPI. Many ranks: surrogate_context_create_mpi in surrogate_mpi.h.
 * options may be NULL; they are copied. */
SURROGATE_API surrogate_status surrogate_context_create(const surrogate_options* options,
                                                        surrogate_context** context);

SURROGATE_API surrogate_status surrogate_context_rank(const surrogate_context* context,
                                                      int32_t* rank, int32_t* size);

/* Brings one outcome to all ranks. Collective: every rank gives its own status, SURROGATE_SUCCESS
 * or any other, of whatever it did; all return the status of the first rank that failed, and
 * surrogate_error() then gives that rank's text on all ("rank 2: .."). Success everywhere is
 * SURROGATE_SUCCESS. A rank whose run failed only because of another rank's NaN stands behind the
 * rank at fault, whatever their numbers.
 *   text   of this rank's failure; NULL: surrogate_error(context)
 * One reduction of 8 bytes, and a broadcast of 2 KB if a rank failed; not counted by
 * surrogate_plan_counter. The option `agree` does it inside each run. */
SURROGATE_API surrogate_status surrogate_context_agree(surrogate_context* context,
                                                       surrogate_status status, const char* text);

/* Reports a failure of the caller's own in this library's way: keeps the text for surrogate_error()
 * of the context (which may be NULL) and of this thread, and returns status. Local. For adapters
 * between this library and a host: whoever asks for the last error finds one place.
 * SURROGATE_SUCCESS keeps nothing. Control characters in the text but line feeds become '?'. */
SURROGATE_API surrogate_status surrogate_context_fail(surrogate_context* context,
                                                      surrogate_status status, const char* text);

/* The sum, maximum or minimum over the ranks of each of n values, on every rank in their place. For
 * solvers that branch on a number, and for wrappers without a communicator of their own.
 * Collective; op and n are the same on all ranks, which is checked. Takes no memory.
 *   values  [n] in/out; unspecified after an error; may be NULL if n is 0
 * The order of a sum is the transport's, also with reproducible=true: the last bits may depend on
 * the number of ranks. A NaN on any rank gives NaN; -0 is less than 0.
 * Two reductions, of 40 bytes and of 8 n bytes; not counted by surrogate_plan_counter.
 * Errors: INVALID_ARGUMENT (op; values NULL; ranks that disagree), SHAPE (n negative), LIMIT (more
 * than 2^63 - 1 bytes). Since 0.1 */
enum { SURROGATE_SUM = 0, SURROGATE_MAX = 1, SURROGATE_MIN = 2 };
SURROGATE_API surrogate_status surrogate_context_reduce(surrogate_context* context, int32_t op,
                                                        int64_t n, double* values);

/* Text for a log: version, ranks, ranks on this node, cores allowed, threads, vector level,
 * transport, each with its reason. Ends with a warning line if threads x ranks exceed the cores. */
SURROGATE_API surrogate_status surrogate_context_describe(const surrogate_context* context,
                                                          char* text, int64_t* n_text);

/* Receives what the library has to say outside of errors: on rank 0, the table of
 * surrogate_plan_describe for each plan made, and check_note of surrogate_model_describe for each
 * model loaded that has one; on every rank that has a function, the lines of range=warn about its
 * own points. `user` is passed through. NULL: silence (default). */
typedef void (*surrogate_log_function)(void* user, const char* text);
SURROGATE_API surrogate_status surrogate_context_set_log(surrogate_context* context,
                                                         surrogate_log_function log, void* user);
SURROGATE_API void surrogate_context_destroy(surrogate_context** context);

/* ---- model ----------------------------------------------------------------------------------- */

/* Reads a model file: a safetensors file with a card (page reference/model-file.md). Collective: rank 0
 * reads and checks, all ranks get the weights. path is used on rank 0 only.
 * Errors: IO, BAD_FILE (names the tensor or key, what was expected and found), NOT_SUPPORTED
 * (family not built). */
SURROGATE_API surrogate_status surrogate_model_load(surrogate_context* context, const char* path,
                                                    surrogate_model** model);

/* The same from the bytes of a model file in memory: from an archive, a socket, a program's own
 * data. Collective: the bytes of rank 0 count, other ranks may give NULL and 0. They are not kept:
 * the caller may free them afterwards. Errors: those of surrogate_model_load but IO; SHAPE (n_bytes
 * negative). Since 0.1 */
SURROGATE_API surrogate_status surrogate_model_load_memory(surrogate_context* context,
                                                           const void* bytes, int64_t n_bytes,
                                                           surrogate_model** model);

/* A model from a card and its weights, without a file. Collective: the arguments of rank 0 count,
 * other ranks may give NULL and 0. Everything is checked as in a file, and copied.
 *   card     JSON as under the key surrogate.card of a model file (page reference/model-file.md)
 *   tensors  [n_tensors] every weight of the card's network under its official name, in
 *            SURROGATE_FLOAT32 or SURROGATE_FLOAT64, which is rounded to single precision
 * Errors: those of surrogate_model_load but IO; INVALID_ARGUMENT (NULL, type), SHAPE (counts,
 * extents). Since 0.1 */
SURROGATE_API surrogate_status surrogate_model_create(surrogate_context* context, const char* card,
                                                      int32_t n_tensors,
                                                      const surrogate_tensor* tensors,
                                                      surrogate_model** model);

/* Writes a model file: the card (with new checksums if it has some) and the weights in single
 * precision under their official names. A model loaded from it predicts the same bits. The check
 * case is not kept, so that nothing in the new file says what it should predict. Collective; rank 0
 * writes, and path is used there only.
 * The file gets its name when it is complete. Until then, and if writing fails, whatever has the
 * name stays as it is; the content goes to "<path>.surrogate.tmp". Links are followed, and an
 * earlier file keeps its permissions.
 * Errors: IO; INVALID_ARGUMENT (NULL); NOT_SUPPORTED (a network without weights). Since 0.1 */
SURROGATE_API surrogate_status surrogate_model_save(const surrogate_model* model, const char* path);

/* One input or output field of the model's card. A network input is (value - mean) / std; a
 * prediction is value * std + mean. min and max bound the training data (-inf, inf if the card does
 * not say). */
enum { SURROGATE_FIELD = 0, SURROGATE_COORDINATE = 1 };
typedef struct surrogate_field_info {
    const char* name;
    const char* unit; /* "" if the card does not say */
    int32_t role;     /* SURROGATE_COORDINATE: taken from the domain, not bound */
    int32_t axis;     /* of a coordinate: 0 .. 7; -1 for fields */
    double mean, std, min, max;
} surrogate_field_info;

SURROGATE_API surrogate_status surrogate_model_n_inputs(const surrogate_model* model, int32_t* n);
SURROGATE_API surrogate_status surrogate_model_n_outputs(const surrogate_model* model, int32_t* n);
SURROGATE_API surrogate_status surrogate_model_input(const surrogate_model* model, int32_t index,
                                                     surrogate_field_info* info);
SURROGATE_API surrogate_status surrogate_model_output(const surrogate_model* model, int32_t index,
                                                      surrogate_field_info* info);

/* Distribution of the inputs of the training samples, as the card gives it (key `pooled`,
 * page reference/model-file.md): what a guard rail compares a step with. Pooling makes 2 numbers of each input
 * that is a field, in the card's order: mean and standard deviation over all points of the network's
 * value, (value - mean) / std. Points count with the domain's weights, on the sphere with their
 * area, else equally.
 *   n_feature   2 x fields; 0: the card says nothing, and the rest is NULL and 0
 *   mean        [n_feature] over the samples
 *   covariance  [n_feature, n_feature] symmetric, positive definite
 *   distance    the Mahalanobis distance that a share `quantile` of the samples does not exceed
 * The memory belongs to the model. Local. Since 0.1 */
typedef struct surrogate_input_statistics {
    int32_t n_feature;
    const double* mean;
    const double* covariance;
    double quantile, distance;
    int64_t n_samples;
} surrogate_input_statistics;
SURROGATE_API surrogate_status surrogate_model_input_statistics(const surrogate_model* model,
                                                                surrogate_input_statistics* info);

/* A number that tells models apart: XXH3-64 of the card (its JSON with sorted keys, without
 * checksums) and of all weights in single precision with their names and shapes, as they are now
 * (a trainer changes weights and ranges of the card). The same on every
 * rank and machine, for a file and its copy, and for what surrogate_model_save writes. The check case
 * does not count. Reads all weights, once until they change. Local. Since 0.1 */
SURROGATE_API surrogate_status surrogate_model_hash(const surrogate_model* model, uint64_t* hash);

/* Kind of domain that a model works on, and the grid if it is one.
 *   kind          SURROGATE_POINTS: scattered points; grid is then "" and the counts are 0
 *                 SURROGATE_SPHERE: the grid `grid` of n_lat x n_lon points, see surrogate_sphere
 *   keeps_clouds  1: points of different clouds (surrogate_points) do not see each other
 *                 0: surrogate_plan_create refuses domains of more than one cloud
 * is_output 0: the input domain, 1: the output domain of surrogate_plan_create. */
enum { SURROGATE_POINTS = 0, SURROGATE_SPHERE = 1 };
typedef struct surrogate_domain_info {
    int32_t kind;
    int32_t keeps_clouds;
    const char* grid;
    int64_t n_lat, n_lon;
} surrogate_domain_info;
SURROGATE_API surrogate_status surrogate_model_domain(const surrogate_model* model,
                                                      int32_t is_output,
                                                      surrogate_domain_info* info);

/* One tensor of the bare network (surrogate_plan_run_network): [n, n_channel].
 *   location  SURROGATE_ON_INPUT, SURROGATE_ON_OUTPUT: a row for each point that this rank has of the
 *          input or output domain. Inputs usually live on the input domain and outputs on the
 *          output domain; the queries of an attention layer between two grids are inputs on the
 *          output domain
 *          SURROGATE_ON_CLOUDS: a row for each cloud of the input domain, on every rank (what a
 *          network reads out of all points)
 *          SURROGATE_ON_NODES: a row for each node that the network makes of the points, on every
 *          rank; their number is the plan's counter "nodes"
 *          SURROGATE_COORDINATES: the points of the input domain; the tensor is their coordinates, an
 *          axis a channel. The plan takes it from the domain (option `coordinates`), and
 *          surrogate_plan_run_network is not given it. It is the first input, or there is none; a
 *          card that names inputs begins with these coordinates
 *   kind   SURROGATE_REAL: SURROGATE_FLOAT32 or SURROGATE_FLOAT64
 *          SURROGATE_INTEGER: SURROGATE_INT32 or SURROGATE_INT64, such as the tokens of a text
 * The card's fields are the channels of the ports, in this order. */
enum {
    SURROGATE_ON_INPUT = 0,
    SURROGATE_ON_OUTPUT = 1,
    SURROGATE_ON_CLOUDS = 2,
    SURROGATE_ON_NODES = 3,
    SURROGATE_COORDINATES = 4
};
enum { SURROGATE_REAL = 0, SURROGATE_INTEGER = 1 };
typedef struct surrogate_port_info {
    const char* name;
    int64_t n_channel;
    int32_t is_output; /* 1: the network writes it */
    int32_t location;
    int32_t kind;
} surrogate_port_info;
SURROGATE_API surrogate_status surrogate_model_n_ports(const surrogate_model* model, int32_t* n);
SURROGATE_API surrogate_status surrogate_model_port(const surrogate_model* model, int32_t index,
                                                    surrogate_port_info* info);

/* 1: runs may leave this input out, such as the mask of a sequence without padding: it is not given to
 * surrogate_plan_run_network, or its field is not bound. 0: they may not. Local. Since 0.1 */
SURROGATE_API surrogate_status surrogate_model_port_is_optional(const surrogate_model* model,
                                                                int32_t index,
                                                                int32_t* is_optional);

/* The family of the model's card: "flare", .. */
SURROGATE_API surrogate_status surrogate_model_family(const surrogate_model* model, char* text,
                                                      int64_t* n_text);

/* A JSON object in ASCII:
 *   family, parameters, card as in the file
 *   weights      by type as stored: tensors, read = "as stored", "widened exactly" (F16, BF16) or
 *                "rounded to single" (F64)
 *   check        names and shapes of the tensors of the check case
 *   check_truth  "double": a prediction can be compared with the official run in double precision;
 *                "single": only with the run in single precision (no check/output64); "none": there
 *                is no check case for this network. Hyperparameters that the shapes of the weights
 *                cannot show (num_heads, activation, scale) are then believed unchecked
 *   check_note   that in words; absent if check_truth is "double" */
SURROGATE_API surrogate_status surrogate_model_describe(const surrogate_model* model, char* text,
                                                        int64_t* n_text);
SURROGATE_API void surrogate_model_destroy(surrogate_model** model);

/* ---- check case ------------------------------------------------------------------------------ */

/* The tensors check/input/.., check/output/.., check/output64/.. that a model file may carry, so
 * that a machine can be asked whether it still computes what the author computed
 * (page reference/model-file.md; either of the outputs may be missing). Collective; every rank holds them
 * whole. Errors: as surrogate_model_load; NOT_SUPPORTED if the file has no check case: neither a
 * check/output/.. nor a check/output64/.. */
SURROGATE_API surrogate_status surrogate_check_case_load(surrogate_context* context,
                                                         const char* path,
                                                         surrogate_check_case** check_case);

SURROGATE_API surrogate_status
surrogate_check_case_n_tensors(const surrogate_check_case* check_case, int32_t* n);

/* name is without "check/": "input/x"; name and data belong to the check case. */
SURROGATE_API surrogate_status surrogate_check_case_tensor(const surrogate_check_case* check_case,
                                                           int32_t index, surrogate_tensor* tensor);
SURROGATE_API void surrogate_check_case_destroy(surrogate_check_case** check_case);

/* Allowed difference between the prediction of a check case and its truth, as |y - truth| / |truth| (L2 norm):
 * the bound of `surrogate check` (page reference/model-file.md). It depends on the model, because official
 * runs of some families are less exact than those of others. Local.
 *   precision  of the plan: "fp32", ..; see surrogate_options_set
 *   is_double  1: the truth is check/output64; 0: check/output
 *   official   |check/output - check/output64| / |check/output64|; NaN if one of them is missing
 * Errors: INVALID_ARGUMENT (precision; NULL). Since 0.1 */
SURROGATE_API surrogate_status surrogate_model_check_bound(const surrogate_model* model,
                                                           const char* precision, int32_t is_double,
                                                           double official, double* bound);

/* ---- domain ---------------------------------------------------------------------------------- */

/* This rank's share of scattered points, in any partition. n_local, the first extent of x, may
 * differ between ranks and be 0. Ghost points must be left out: a point counts once.
 *   x          [n_local, 0..8] coordinates in the unit of the model's card; [n_local, 0] for points
 *              without coordinates
 *   global_id  [n_local] distinct over all ranks, or NULL. The reproducible mode orders points by
 *              it (without ids: by coordinates, which must then differ from point to point);
 *              messages name points by it
 *   cloud      [n_local] the cloud of each point, or NULL: all points belong to cloud 0. For models
 *              that treat several sets of points at once and keep them apart: the events of a
 *              detector, the samples of a batch. Clouds are numbered from 0, below the number of
 *              points of all ranks; the points of a cloud may lie on any ranks, in any order
 *   weight     [n_local] finite, not negative: the volume, area or mass that a point stands for, or
 *              NULL. Kept for integrals over the domain; no network reads it yet
 * A rank without points may give NULL for what others give. */
typedef struct surrogate_points {
    surrogate_array x;
    const int64_t* global_id;
    const int64_t* cloud;
    const double* weight;
} surrogate_points;

/* A domain of scattered points. Collective; the arrays are copied.
 * Errors: SHAPE, LIMIT (x, as for any surrogate_array), NOT_FINITE (names the point),
 * INVALID_ARGUMENT (NULL; an invalid cloud or weight; ranks that give different arrays),
 * NO_MEMORY. */
SURROGATE_API surrogate_status surrogate_domain_create_points(surrogate_context* context,
                                                              const surrogate_points* points,
                                                              surrogate_domain** domain);

/* Data of this rank's points in a domain of scattered points: x as double, axis by axis. The
 * memory belongs to the domain, must not be written, and is valid until the points move. Local. Errors: NOT_SUPPORTED (a grid).
 * Since 0.1 */
SURROGATE_API surrogate_status surrogate_domain_points(const surrogate_domain* domain,
                                                       surrogate_points* points);

/* Points that have moved: takes new coordinates into a domain that plans use, and new counts where
 * points have come, gone, or changed their rank. Collective. The plans stay; each follows in its next
 * run, where all ranks agree: what a plan cannot be on the new points is that run's error, on all
 * ranks.
 *   points  as in surrogate_domain_create_points, with the same number of coordinates; ids, clouds
 *           and weights are given if they were given before
 * Bound fields stay bound while this rank's number of points stays; a run with arrays of another
 * length is SURROGATE_SHAPE, and asks to bind them again.
 * Nothing is allocated while this rank has no more points than it ever had before, on the host; plans
 * in reproducible mode find their order again, and plans on a device are made again, which takes
 * memory. Errors: those of surrogate_domain_create_points, after which the domain is as before;
 * NOT_SUPPORTED (a grid on the sphere). Since 0.1 */
SURROGATE_API surrogate_status surrogate_domain_update_points(surrogate_domain* domain,
                                                              const surrogate_points* points);

/* Edges between the points, for models that pass messages along a graph; others do not read them.
 * Collective; the arrays are copied. Edges of an earlier call are replaced, plans follow in their next
 * run. The domain keeps them until the points move: then give them again, before the next run.
 *   source, target  [n_edge] global ids; what the source has flows to the target. Each edge is given
 *                   once, by any rank, in any order; an edge that is given twice counts twice. NULL if
 *                   n_edge is 0
 * Errors: INVALID_ARGUMENT (no point has such an id; a domain without ids, or with equal ones),
 * LIMIT (n_edge), NOT_SUPPORTED (a grid), NO_MEMORY; the edges are then as before. Since 0.1 */
SURROGATE_API surrogate_status surrogate_domain_set_edges(surrogate_domain* domain, int64_t n_edge,
                                                          const int64_t* source,
                                                          const int64_t* target);

/* The number of clouds: 1 + the largest index over all ranks; 1 without indices, and for grids.
 * Local. Since 0.1 */
SURROGATE_API surrogate_status surrogate_domain_n_clouds(const surrogate_domain* domain,
                                                         int64_t* n);

/* A block of a grid on the sphere, as the solver has it: whole bands of latitude, or latitude x
 * longitude blocks. The blocks of all ranks tile the sphere; a rank may have none (n_lat_local or
 * n_lon_local 0).
 *   grid          where the rows lie: "equiangular" (both poles), "legendre-gauss", "lobatto",
 *                 "equiangular-trapezoidal" (nodes equispaced in the sine of latitude)
 *   n_lat, n_lon  of the whole sphere; longitudes are equispaced, without a doubled end point
 *   first_lat ..  this rank's rows first_lat .. first_lat + n_lat_local - 1 and columns first_lon
 *                 .. first_lon + n_lon_local - 1, as the solver counts them
 *   latitude      [n_lat_local] degrees north of the rows, in either direction; NULL: the nodes of
 *                 the grid, row 0 the northernmost, or the southernmost if south_to_north is 1
 *   longitude     [n_lon_local] degrees east of the columns, ascending (0, 360 and -180 may lie
 *                 anywhere); NULL: first_longitude + 360 * column / n_lon
 *   lat_stride, lon_stride
 *                 where the fields of this block lie: point (i, j) is element (i * lat_stride + j *
 *                 lon_stride) * stride[0] of a bound array, whose shape[0] is n_lat_local *
 *                 n_lon_local whatever the steps. 0, 0 means n_lon_local, 1: rows without gaps.
 *                 An array u(n_lat + 2, n_lon + 2) of Fortran with one layer of ghosts has steps 1
 *                 and n_lat + 2, and is bound from its first inner point.
 * The plan flips rows and shifts columns to the model's order. */
typedef struct surrogate_sphere {
    const char* grid;
    int64_t n_lat, n_lon;
    int64_t first_lat, n_lat_local;
    int64_t first_lon, n_lon_local;
    const double* latitude;
    const double* longitude;
    int32_t south_to_north;
    double first_longitude;
    int64_t lat_stride, lon_stride;
} surrogate_sphere;

/* A spherical domain. Collective; the arrays are copied.
 * Errors: INVALID_ARGUMENT (unknown grid; rows whose latitudes are not nodes of the grid, with both
 * lists; blocks that overlap or leave points out, naming the ranks; ranks that disagree), SHAPE
 * (counts, steps), NOT_FINITE. */
SURROGATE_API surrogate_status surrogate_domain_create_sphere(surrogate_context* context,
                                                              const surrogate_sphere* sphere,
                                                              surrogate_domain** domain);

/* Data of this rank's block in a spherical domain, with the steps in force; latitude and longitude
 * are NULL. Local. Errors: NOT_SUPPORTED (scattered points). Since 0.1 */
SURROGATE_API surrogate_status surrogate_domain_sphere(const surrogate_domain* domain,
                                                       surrogate_sphere* sphere);

/* Nodes of a grid on the sphere, as torch-harmonics has them. Local.
 *   latitude   [n_lat] degrees north, from north to south, or NULL
 *   longitude  [n_lon] degrees east, from 0, or NULL
 *   weight     [n_lat] share of the sphere's area that one point of the row stands for: summed over
 *              all points of the grid, 1; or NULL */
SURROGATE_API surrogate_status surrogate_sphere_nodes(const char* grid, int64_t n_lat,
                                                      int64_t n_lon, double* latitude,
                                                      double* longitude, double* weight);

SURROGATE_API surrogate_status surrogate_domain_n_points(const surrogate_domain* domain,
                                                         int64_t* n_local, int64_t* n_global);
SURROGATE_API void surrogate_domain_destroy(surrogate_domain** domain);

/* The points of a domain in an order that no partition changes, for files and comparisons: scattered
 * points by global id, without ids by coordinates; grids on the sphere row by row from north to
 * south, each from longitude 0 eastwards. Rank r holds a contiguous range of that order, balanced as
 * "contiguous" of surrogate_partition.
 * Collective. row_bytes: of the largest row that will travel.
 * Errors: INVALID_ARGUMENT (equal ids; without ids equal points, which are named; points with
 * neither), SHAPE (row_bytes below 1), NO_MEMORY. The order is that of the domain now: make it anew
 * after surrogate_domain_update_points. Since 0.1 */
typedef struct surrogate_ordering surrogate_ordering;
SURROGATE_API surrogate_status surrogate_ordering_create(const surrogate_domain* domain,
                                                         int64_t row_bytes,
                                                         surrogate_ordering** order);

/* This rank's range: first and n of the positions 0 .. n_global - 1. Local. */
SURROGATE_API surrogate_status surrogate_ordering_range(const surrogate_ordering* order,
                                                        int64_t* first, int64_t* n);

/* Brings rows of row_bytes bytes from the solver's partition to the order, and back. Collective;
 * takes no memory. The two arrays do not overlap, and rows are moved as they are.
 *   row_bytes  the same on all ranks, at most that of create
 *   local      [n_local, row_bytes] in the domain's order: as x of surrogate_points, or row by row of
 *              the block of surrogate_sphere
 *   ordered    [n of the range, row_bytes]
 * Either may be NULL if it has no rows. Besides the rows 8 and 16 bytes are reduced, so that the
 * arguments of one rank are refused on all. Errors: SHAPE (row_bytes), INVALID_ARGUMENT (NULL; ranks
 * that disagree); nothing is written then. */
SURROGATE_API surrogate_status surrogate_ordering_to_canonical(const surrogate_ordering* order,
                                                               int64_t row_bytes, const void* local,
                                                               void* ordered);
SURROGATE_API surrogate_status surrogate_ordering_to_local(const surrogate_ordering* order,
                                                           int64_t row_bytes, const void* ordered,
                                                           void* local);
SURROGATE_API void surrogate_ordering_destroy(surrogate_ordering** order);

/* Rows of 0 .. n_rows - 1 that `rank` of `size` owns under a named partition: "contiguous"
 * (balanced, larger shares first), "scattered" (seeded shuffle, dealt round robin), "uneven"
 * (empty, half, and equal shares). Local. rows NULL: only the count. */
SURROGATE_API surrogate_status surrogate_partition(const char* kind, int64_t n_rows, int32_t rank,
                                                   int32_t size, int64_t* rows, int64_t* n_local);

/* The block of a grid that `rank` of `size` owns under a named partition: "contiguous" and "uneven"
 * deal whole rows as surrogate_partition does; "scattered": n_lat x n_lon blocks, the largest
 * divisor of `size` whose square is at most `size` along latitude, balanced both ways.
 *   block  {first row, rows, first column, columns} */
SURROGATE_API surrogate_status surrogate_partition_sphere(const char* kind, int64_t n_lat,
                                                          int64_t n_lon, int32_t rank, int32_t size,
                                                          int64_t block[4]);

/* ---- plan ------------------------------------------------------------------------------------ */

/* Everything that one evaluation needs: orders, message patterns, workspace. Collective.
 * output NULL: the same domain as input. options NULL: those of the context.
 * Points without coordinates serve surrogate_plan_run_network only, of networks without a port of
 * positions.
 * Errors: NOT_SUPPORTED (backend, precision; no device; several clouds), DEVICE, SHAPE (coordinates
 * the domain does not have), UNKNOWN_NAME, INVALID_ARGUMENT (model, domain of another context;
 * ranks with different models, which are compared by surrogate_model_hash, or with domains of
 * different numbers of points; equal points in reproducible mode), NO_MEMORY. */
SURROGATE_API surrogate_status surrogate_plan_create(const surrogate_model* model,
                                                     const surrogate_domain* input,
                                                     const surrogate_domain* output,
                                                     const surrogate_options* options,
                                                     surrogate_plan** plan);

/* A plan in one call: context, model, domain and plan, of which only the plan is left to destroy. One
 * rank, without MPI; many: surrogate_plan_open_mpi in surrogate_mpi.h.
 *   path     the model file
 *   points   as in surrogate_domain_create_points
 *   options  of the context, or NULL
 * surrogate_plan_context and its siblings give the parts. After an error nothing is left, and
 * surrogate_error(NULL) has the text. Errors: those of the four. Since 0.1 */
SURROGATE_API surrogate_status surrogate_plan_open(const char* path, const surrogate_points* points,
                                                   const surrogate_options* options,
                                                   surrogate_plan** plan);

/* Objects from which a plan was created, for wrappers that hold only the plan. Each gives a new handle of the
 * same object, which the caller destroys, before or after the plan. is_output 0: the input domain,
 * 1: the output domain. Local. Since 0.1 */
SURROGATE_API surrogate_status surrogate_plan_context(const surrogate_plan* plan,
                                                      surrogate_context** context);
SURROGATE_API surrogate_status surrogate_plan_model(const surrogate_plan* plan,
                                                    surrogate_model** model);
SURROGATE_API surrogate_status surrogate_plan_domain(const surrogate_plan* plan, int32_t is_output,
                                                     surrogate_domain** domain);

/* surrogate_context_agree over the ranks of a plan, for wrappers that have no handle of its context,
 * such as those that have just failed to get one. Collective. Since 0.1 */
SURROGATE_API surrogate_status surrogate_plan_agree(surrogate_plan* plan, surrogate_status status,
                                                    const char* text);

/* Tells where a field of the card lies: [n_local, 1], float or double, any stride. Local, cheap;
 * binding again replaces. The memory stays the caller's and is used by every later run; inputs are
 * only read, outputs only written, and they may be the same array.
 *   Fields at clouds or nodes (surrogate_port_info: the card's fields are the ports' channels) have a
 *   row for each of these, on every rank; those of integer ports are int32 or int64.
 *   unit   the unit the array is in, or NULL not to check; it must equal the card's
 *   Vectors and tensors are one field a component on the card: velocity.x, velocity.y, velocity.z;
 *   stress.xx, stress.xy, .. The name before the dot binds all of them at once, to an array [n_local,
 *   n_component] whose columns are the components in alphabetical order.
 * Errors: UNKNOWN_NAME (lists the card's fields), SHAPE, LIMIT, INVALID_ARGUMENT (unit). */
SURROGATE_API surrogate_status surrogate_plan_bind_input(surrogate_plan* plan, const char* name,
                                                         const char* unit,
                                                         const surrogate_array* array);
SURROGATE_API surrogate_status surrogate_plan_bind_output(surrogate_plan* plan, const char* name,
                                                          const char* unit,
                                                          const surrogate_array* array);

/* The same for one field in a block of up to 4 axes, without a copy: for arrays with ghost points.
 * The points of the block, first axis fastest, are those of the domain. Scattered points and backends
 * of the host only (grids on the sphere have lat_stride and lon_stride). Errors: besides those of
 * surrogate_plan_bind_input, NOT_SUPPORTED. Since 0.1 */
SURROGATE_API surrogate_status surrogate_plan_bind_input_block(surrogate_plan* plan,
                                                               const char* name, const char* unit,
                                                               const surrogate_block* block);
SURROGATE_API surrogate_status surrogate_plan_bind_output_block(surrogate_plan* plan,
                                                                const char* name, const char* unit,
                                                                const surrogate_block* block);

/* Forgets all bound arrays: a run before they are bound again is an error. For callers whose arrays
 * are valid only between two calls, such as those taken out of vectors. Local. */
SURROGATE_API surrogate_status surrogate_plan_unbind(surrogate_plan* plan);

/* Evaluates the surrogate once on the bound fields: normalisation, network, denormalisation. Called
 * by all ranks of the context, but without agreement between them: a rank that finds an error
 * (unbound field, non-finite value) takes part in all exchanges, sends NaN and returns its own
 * status; with check_finite the others return NOT_FINITE. Nobody waits, outputs are then NaN or
 * untouched, and the next correct run is exact. Allocates nothing.
 *   agree=true   all ranks return the status of the first rank at fault, with its text, as
 *                surrogate_context_agree does; on a stream a run then waits for its own work. */
SURROGATE_API surrogate_status surrogate_plan_run(surrogate_plan* plan);

/* Takes the place of surrogate_plan_run on a rank that cannot run, where others do: it takes part
 * in all exchanges, sends NaN, and returns `status` with `text` (with agree=true the agreed ones).
 * For adapters that fail before they can bind arrays. Outputs are not written. */
SURROGATE_API surrogate_status surrogate_plan_run_with_error(surrogate_plan* plan,
                                                             surrogate_status status,
                                                             const char* text);

/* Evaluates the bare network, without the card's normalisation, coordinates and names: input and
 * output tensors under the names of the family's specification ("x" -> "y" for FLARE), each
 * [n_local, n_channel], or with the rows that its surrogate_port_info says. Ports of positions are
 * not given. Same collectivity and errors as surrogate_plan_run. */
SURROGATE_API surrogate_status surrogate_plan_run_network(surrogate_plan* plan, int32_t n_inputs,
                                                          const surrogate_named_array* inputs,
                                                          int32_t n_outputs,
                                                          const surrogate_named_array* outputs);

/* Plans with backend cuda only, others refuse it (NOT_SUPPORTED): runs go to this stream, a
 * cudaStream_t of the caller's on the plan's device; NULL is the default stream. Local. May be
 * called again; work under way goes on in order. The stream must live until another one is set or
 * the plan is destroyed.
 *   No stream set   the plan has one of its own. What the caller does with bound arrays on the
 *                   device must be done when surrogate_plan_run is called; it returns when the
 *                   results are there.
 *   Stream set      a run comes after the work given to the stream before, and before that given
 *                   later. If all bound arrays lie on the device surrogate_plan_run only enqueues:
 *                   it returns at once, without waiting on the host, and the arrays belong to it
 *                   until the stream has passed it. What it finds (NOT_FINITE, DEVICE) is returned
 *                   by surrogate_plan_wait, or by the first later run that finds the stream done.
 *                   At most 64 runs are ahead of the host; the next one waits.
 *                   With arrays on the host, in reproducible mode, or if something is wrong with
 *                   the arguments, a run waits for its own work. If reductions pass through the
 *                   host (MPI, see surrogate_plan_describe) it waits for each of them.
 *   A stream that is being captured into a CUDA graph is rejected, here and by surrogate_plan_run
 *   (NOT_SUPPORTED); the capture stays valid.
 *   Another user of NCCL in the process must not have operations in progress at the same time as
 *   plans on a different stream, or ranks may wait for each other until timeout_s. Give plans the
 *   stream on which the other user works; page how-to/use-gpus.md lists the alternatives. */
SURROGATE_API surrogate_status surrogate_plan_set_stream(surrogate_plan* plan, void* stream);

/* Waits on the host until all runs that were enqueued are done, and returns what the earliest of
 * them that was not good has found; the text names the run. Success for plans of other backends.
 * Local, but runs end only when all ranks have called them. */
SURROGATE_API surrogate_status surrogate_plan_wait(surrogate_plan* plan);

/* The value in force of an option of surrogate_options_set, "auto" resolved: "simd", "avx2", "2".
 * Takes no memory. */
SURROGATE_API surrogate_status surrogate_plan_option(const surrogate_plan* plan, const char* key,
                                                     char* text, int64_t* n_text);

/* Counters of this rank:
 *   bytes_sent       payload handed to the communicator by the last run
 *   collectives      collective calls of the last run
 *   runs             runs so far
 *   workspace_bytes  memory the plan holds (backend cuda: on the device, without weights)
 *   points_local     points this rank computes (differs from the domain's in reproducible mode)
 *   nodes            rows of ports at nodes
 *   outside_range    values outside the card's ranges, summed over the inputs: see
 *                    surrogate_plan_range */
SURROGATE_API surrogate_status surrogate_plan_counter(const surrogate_plan* plan, const char* key,
                                                      int64_t* value);

/* Extrapolation: how many of this rank's values of one input lay outside the range that the card
 * says of the training data. Local; every run counts, in the pass that reads the fields.
 *   fields        of the last surrogate_plan_run; 0 before the first, and after
 *                 surrogate_plan_run_network, which knows no card. With a stream set: of the last
 *                 run whose end the host has seen (surrogate_plan_wait)
 *   coordinates   of the domain, which every run uses
 * NaN and infinity are not counted: they are SURROGATE_NOT_FINITE.
 *   name, min, max   of the card as that run took it; -inf, inf: no range, nothing is counted
 *   n_points         of this rank's input domain: n_outside / n_points is this rank's share
 *   n_outside        values below min or above max
 *   worst            the one farthest outside; 0 if n_outside is 0
 * input: as in surrogate_model_input. Errors: INVALID_ARGUMENT (no such input). */
typedef struct surrogate_range_info {
    const char* name;
    double min, max;
    int64_t n_points;
    int64_t n_outside;
    double worst;
} surrogate_range_info;
SURROGATE_API surrogate_status surrogate_plan_range(const surrogate_plan* plan, int32_t input,
                                                    surrogate_range_info* info);

/* A table for a log: points, mode, where the coordinates of all ranks lie beside the card's ranges
 * and which of them the model ignores, and per layer bytes, collectives, flops and exponentials of
 * this rank. */
SURROGATE_API surrogate_status surrogate_plan_describe(const surrogate_plan* plan, char* text,
                                                       int64_t* n_text);
SURROGATE_API void surrogate_plan_destroy(surrogate_plan** plan);

#ifdef __cplusplus
}
#endif

#endif
