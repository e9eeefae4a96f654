/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SURROGATE_H
#define SURROGATE_H

/* libsurrogate: learned attention surrogates inside MPI solvers. The C interface (C99) is the
 * binary interface.
 *
 *   context   communicator and options, created once per job
 *   model     contents of a file: network, weights, fields with units and ranges
 *   domain    points of the solver, in the solver's partition
 *   plan      a model on a domain, created once and run in every step
 *
 * Conventions
 * - Every function returns a status; results are returned through trailing pointers.
 *   surrogate_error() returns the text of a failure.
 * - "Collective" functions are called by all ranks of the context's communicator, and return the
 *   same status on all of them, with the text of the first rank that failed. "Local" functions are
 *   called by any rank.
 * - Handles are opaque. Objects may be destroyed in any order; each keeps the objects that it uses
 *   alive. A destroy function takes the address of the handle, accepts NULL, and sets the handle to
 *   NULL. Destroying the last object of a context frees its communicator and must then be done on
 *   all of its ranks (after MPI_Finalize it only frees memory).
 * - Texts are copied out through a pair (text, n_text): *n_text is the size of `text` in bytes on
 *   entry (text may be NULL to query the size) and the required size, including the final zero, on
 *   return. A buffer that is too small gives SURROGATE_SHAPE and a truncated text. Three functions
 *   cannot fail and return a text to be used at once: surrogate_version, surrogate_status_name,
 *   surrogate_error. A name inside a struct belongs to the object from which the struct was queried
 *   and is valid as long as that object.
 * - Structs are passed by address, are plain data, and never change size; new data come with new
 *   functions. Set a struct to zero before filling it in.
 * - Fields, ports, tensors, axes, components and ranks count from 0, in every language.
 * - Inputs are only read, including the memory behind surrogate_array.data, which is not const
 *   because the same struct describes outputs.
 * - The library never prints, exits, aborts, initializes MPI or uses the world communicator.
 * - A context and the objects made from it are used by one thread at a time. A call that changes or
 *   runs a plan, or a trainer of the plan, while another call works on it (in another thread, or in
 *   a log function called by it) returns INVALID_ARGUMENT at once and changes nothing. This error
 *   is local: a rejected collective call takes no part in exchanges. surrogate_error(NULL) returns
 *   its text.
 * - After a run with more than one thread, a process made by fork() must not run plans: OpenMP has
 *   no threads there and waits for them. dlclose() is harmless: the library stays loaded.
 * Pages named here are in share/doc/surrogate of an installation and in share/doc of the
 * sources. */

#include <stdint.h>

#if defined(_WIN32)
#define SURROGATE_API
#else
#define SURROGATE_API __attribute__((visibility("default")))
#endif

#define SURROGATE_VERSION_MAJOR 0 /* of this header; surrogate_version returns the library's */
#define SURROGATE_VERSION_MINOR 2 /* of this header */
#define SURROGATE_VERSION_PATCH 0 /* of this header */

#ifdef __cplusplus
extern "C" {
#endif

/* ---- status ---------------------------------------------------------------------------------- */

/* Status of a call. */
typedef int32_t surrogate_status;

/* Values of a status. */
enum {
    SURROGATE_SUCCESS = 0,          /* no error */
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
                                       or the device; the text describes the failure */
    SURROGATE_INTERNAL = 12,        /* a defect of this library */
    SURROGATE_DEVICE = 13,          /* a call of the device's runtime or of NCCL failed */
    SURROGATE_OUT_OF_RANGE = 14,    /* range=error: an input outside the card's range */
    SURROGATE_CALLBACK = 15         /* a function of the caller failed: it threw an exception */
};

/* Options of a context or a plan: checked pairs of key and value. */
typedef struct surrogate_options surrogate_options;

/* Communicator, default options and log of a job. */
typedef struct surrogate_context surrogate_context;

/* Network, weights and model card. */
typedef struct surrogate_model surrogate_model;

/* Stored inputs and outputs of a model file. */
typedef struct surrogate_check_case surrogate_check_case;

/* Points of the solver on which models work. */
typedef struct surrogate_domain surrogate_domain;

/* A model on a domain, ready to run. */
typedef struct surrogate_plan surrogate_plan;

/* Returns "0.2.0", the version of the library that is running (the macros above give the version
 * that the program was compiled against). Local. Errors: none. */
SURROGATE_API const char* surrogate_version(void);

/* Returns the name of a status, such as "SHAPE" for SURROGATE_SHAPE; never NULL. Local. Errors:
 * none. */
SURROGATE_API const char* surrogate_status_name(surrogate_status status);

/* Returns the text of the last failure on this context: the request, the value found, and the
 * remedy; "" if there was none. context NULL: of the last failed call of this thread, on any
 * context (also if no context could be created), including calls of surrogate_vtk.h. The text is
 * valid until the next failure. UTF-8, without control characters except line feeds. Local.
 * Errors: none. */
SURROGATE_API const char* surrogate_error(const surrogate_context* context);

/* ---- arrays ---------------------------------------------------------------------------------- */

/* Types of numbers in memory. */
enum {
    SURROGATE_FLOAT32 = 0, /* float */
    SURROGATE_FLOAT64 = 1, /* double */
    SURROGATE_INT32 = 2,   /* int32_t */
    SURROGATE_INT64 = 3,   /* int64_t */
    SURROGATE_UINT8 = 4    /* uint8_t: in check cases and in surrogate_vtk.h */
};

/* Memory spaces. */
enum {
    SURROGATE_HOST = 0, /* memory of the CPU */
    SURROGATE_CUDA = 1  /* memory of the plan's device */
};

/* A strided array of the caller: element (i, j) is at data + i * stride[0] + j * stride[1], counted
 * in elements. Fortran's u(n_field, n_point) has shape {n_point, n_field} and stride {n_field, 1}:
 * the same memory. More than 2^63 - 1 bytes are LIMIT, strides that leave the address space
 * SHAPE. */
typedef struct surrogate_array {
    /* element (0, 0); may be NULL if shape[0] or shape[1] is 0 */
    void* data;
    /* {points that this rank owns (without ghost points), components (1 for a single field)} */
    int64_t shape[2];
    /* in elements. Strides may be negative; an input may have stride 0 (one number for all points).
     * Elements of an output must not share memory: ordered by size, each stride exceeds the
     * distance that the smaller ones span (SHAPE) */
    int64_t stride[2];
    /* SURROGATE_FLOAT32 or SURROGATE_FLOAT64 for real numbers; SURROGATE_INT32 or SURROGATE_INT64
     * for network ports of integers */
    int32_t dtype;
    /* SURROGATE_HOST, or SURROGATE_CUDA for memory of the plan's device (fields of plans with
     * backend cuda, which accept both, in any mixture). Such plans check each pointer when it is
     * bound: INVALID_ARGUMENT for another memory space */
    int32_t space;
} surrogate_array;

/* Describes an array on the host: shape {n, n_column}, stride {stride, 1}. Internal. */
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

/* Describes a column of n numbers on the host, `stride` elements apart. For field f in an
 * interlaced array u[n][n_field]: surrogate_column_f64(u + f, n, n_field). data is not const in the
 * result, which may describe an output; inputs are only read. In C++: surrogate::column. Local. */
static inline surrogate_array surrogate_column_f64(const double* data, int64_t n, int64_t stride) {
    return surrogate_make_array_(data, n, 1, stride, SURROGATE_FLOAT64);
}

/* Describes a column in single precision, as surrogate_column_f64. Local. */
static inline surrogate_array surrogate_column_f32(const float* data, int64_t n, int64_t stride) {
    return surrogate_make_array_(data, n, 1, stride, SURROGATE_FLOAT32);
}

/* Describes n rows of n_column contiguous numbers on the host, such as coordinates. In C++:
 * surrogate::matrix. Local. */
static inline surrogate_array surrogate_matrix_f64(const double* data, int64_t n,
                                                   int64_t n_column) {
    return surrogate_make_array_(data, n, n_column, n_column, SURROGATE_FLOAT64);
}

/* Describes rows in single precision, as surrogate_matrix_f64. Local. */
static inline surrogate_array surrogate_matrix_f32(const float* data, int64_t n, int64_t n_column) {
    return surrogate_make_array_(data, n, n_column, n_column, SURROGATE_FLOAT32);
}

/* One field in the interior of an array of up to 4 axes, such as a block with ghost cells. Point
 * i = i0 + shape[0] * (i1 + shape[1] * (i2 + ..)) is at data + i0 * stride[0] + i1 * stride[1] +
 * .., counted in elements: the first axis is the fastest, as in Fortran's u(1:n_x, 1:n_y). Rules
 * for strides, sizes and outputs are as in surrogate_array. */
typedef struct surrogate_block {
    void* data;        /* point 0; may be NULL if an extent is 0 */
    int64_t shape[4];  /* extents of axes 0 .. n_dim - 1; their product is the number of points */
    int64_t stride[4]; /* of the same axes, in elements */
    int32_t n_dim;     /* 1 .. 4 */
    int32_t dtype;     /* SURROGATE_FLOAT32 or SURROGATE_FLOAT64 */
    int32_t space;     /* SURROGATE_HOST */
    int32_t reserved;  /* 0 */
} surrogate_block;

/* A named array: an input or output tensor of surrogate_plan_run_network. */
typedef struct surrogate_named_array {
    const char* name;      /* of the port: surrogate_port_info */
    surrogate_array array; /* rows as the port's location says, one column per channel */
} surrogate_named_array;

/* A named tensor of up to 8 axes, complete and row-major: a weight of a model, or a tensor of a
 * check case. */
typedef struct surrogate_tensor {
    const char* name; /* of a weight: its official name */
    const void* data; /* on the host; may be NULL if an extent is 0 */
    int64_t shape[8]; /* extents of axes 0 .. n_dim - 1 */
    int32_t n_dim;    /* 0 .. 8; 0: one number */
    int32_t dtype;    /* SURROGATE_FLOAT32, .. */
} surrogate_tensor;

/* ---- options --------------------------------------------------------------------------------- */

/* Creates options without values. Keys and values are checked when they are set; an unknown key is
 * an error that lists near misses.
 *   threads       1, 2, .. or auto    threads of this rank; auto: the smaller of (allowed cores /
 *                                     ranks on the node) and the number that OpenMP gives its
 *                                     caller when the plan is created (OMP_NUM_THREADS,
 *                                     omp_set_num_threads). surrogate_context_describe states the
 *                                     reason
 *   vector        auto, avx512, avx2, neon, scalar
 *                                     SIMD instruction set of backend simd
 *   backend       auto, ref, simd, cuda
 *                 auto: simd; a device is used on request only
 *   precision     fp32                the accuracy of single precision, on every backend
 *                 fp64                only with backend ref
 *                 tf32, fp16, bf16    only with backend cuda: operands of products in this type,
 *                                     sums and everything else in fp32 (page how-to/use-gpus.md)
 *   device        auto, 0, 1, ..      backend cuda: the device, as the runtime counts; auto: the
 *                                     current device of the calling thread. A context has one
 *                                     device, opened with it or by the first plan that requests it
 *   timeout_s     0, 1, ..            backend cuda: a wait for work with reductions over ranks
 *                                     fails after so many seconds (SURROGATE_DEVICE); 0: no limit.
 *                                     Read when the device is opened
 *   reproducible  false, true         bitwise identical results for any number of ranks, partition,
 *                 threads and vector width
 *   check_finite  true, false         a run reports NaN and infinity (SURROGATE_NOT_FINITE)
 *   agree         false, true         a run returns the status and text of the first failed rank on
 *                 all ranks; costs one small reduction per run
 *   range         count, warn, error  treatment of inputs outside the card's ranges
 *                 (surrogate_plan_range). count: counted; warn: also logged, one line per field, in
 *                 the first run that has such a value; error: the run returns
 *                 SURROGATE_OUT_OF_RANGE, after all exchanges and with its predictions written
 *   coordinates   physical, normalized
 *                 meaning of the domain's coordinates. physical: in the units of the model's card;
 *                 the plan normalizes them (and uses them unchanged if the card names no inputs).
 *                 normalized: as the network takes them; ranges of coordinates are then compared in
 *                 these numbers
 *   gradients     false               the plan only predicts
 *                 true, recompute     the plan can be trained (surrogate_train.h): its predictions
 *                                     are bitwise identical, and it stores the activations that the
 *                                     backward pass reads; recompute: less memory, more time.
 *                                     Backends ref and simd; cuda for FLARE, with arrays on the
 *                                     host
 *                 inputs              predictions can be differentiated with respect to inputs
 *                                     (surrogate_plan_run_backward); memory as with true. Backends
 *                                     ref and simd. Since 0.2
 *   states        1, 2, ..            states of a grid on the sphere that a run evaluates. Arrays
 *                                     have so many times the rows: state after state, each like the
 *                                     domain's points; numbers per cloud have a row for each state.
 *                                     On the host, without gradients and without lat_stride and
 *                                     lon_stride (NOT_SUPPORTED). Since 0.2
 *   allow_code    false, true         true: a plan may run the machine code beside a model file of
 *                                     family torch. Set it only for files from a source that you
 *                                     trust (page reference/families/torch.md). Since 0.2
 * Options of a context are the defaults of its plans; options of a plan apply to that plan. Local.
 * Errors: INVALID_ARGUMENT (NULL), NO_MEMORY. */
SURROGATE_API surrogate_status surrogate_options_create(surrogate_options** options);

/* Sets a value, which is copied. Local. Errors: UNKNOWN_NAME (key), INVALID_ARGUMENT (value;
 * NULL). */
SURROGATE_API surrogate_status surrogate_options_set(surrogate_options* options, const char* key,
                                                     const char* value);

/* Destroys options. Local. Errors: none. */
SURROGATE_API void surrogate_options_destroy(surrogate_options** options);

/* ---- context --------------------------------------------------------------------------------- */

/* Creates a context of one rank, without MPI; surrogate_context_create_mpi in surrogate_mpi.h
 * creates one of several ranks. options may be NULL; they are copied. Local. Errors:
 * INVALID_ARGUMENT (NULL), NOT_SUPPORTED (options that this machine cannot serve), DEVICE,
 * NO_MEMORY. */
SURROGATE_API surrogate_status surrogate_context_create(const surrogate_options* options,
                                                        surrogate_context** context);

/* Returns this rank and the number of ranks. Local. Errors: INVALID_ARGUMENT (NULL). */
SURROGATE_API surrogate_status surrogate_context_rank(const surrogate_context* context,
                                                      int32_t* rank, int32_t* size);

/* Agrees on a status. Collective: every rank passes its own status, SURROGATE_SUCCESS or the status
 * of any failure; all return the status of the first rank that failed, and surrogate_error() then
 * returns that rank's text on all ranks ("rank 2: .."). If no rank failed, all return
 * SURROGATE_SUCCESS. A rank whose run failed only because of another rank's NaN is reported after
 * the rank at fault, in any order of ranks.
 *   text   text of this rank's failure; NULL: surrogate_error(context)
 * Costs one reduction of 8 bytes, and a broadcast of 2 KB if a rank failed; surrogate_plan_counter
 * does not count them. With the option `agree` each run does the same. Errors: the agreed status,
 * MPI. */
SURROGATE_API surrogate_status surrogate_context_agree(surrogate_context* context,
                                                       surrogate_status status, const char* text);

/* Reports a failure of the caller in the form of this library: stores the text for
 * surrogate_error() of the context (which may be NULL) and of this thread, and returns `status`.
 * Local. For adapters between this library and a host, so that the last error is found in one
 * place. SURROGATE_SUCCESS stores nothing. Control characters in the text except line feeds
 * become '?'. Errors: `status`. */
SURROGATE_API surrogate_status surrogate_context_fail(surrogate_context* context,
                                                      surrogate_status status, const char* text);

/* Operations of surrogate_context_reduce. */
enum {
    SURROGATE_SUM = 0, /* sum over the ranks */
    SURROGATE_MAX = 1, /* largest value */
    SURROGATE_MIN = 2  /* smallest value */
};

/* Reduces each of n values over the ranks, in place on every rank. For solvers that branch on a
 * number, and for wrappers without a communicator of their own. Collective; op and n are the same
 * on all ranks, which is checked. Does not allocate.
 *   values  [n] in/out; unspecified after an error; may be NULL if n is 0
 * The transport chooses the order of a sum, also with reproducible=true: the last bits may depend
 * on the number of ranks. A NaN on any rank gives NaN; -0 is less than 0. Costs two reductions, of
 * 40 bytes and of 8 n bytes; surrogate_plan_counter does not count them.
 * Errors: INVALID_ARGUMENT (op; values NULL; ranks that disagree), SHAPE (n negative), LIMIT (more
 * than 2^63 - 1 bytes). Since 0.1 */
SURROGATE_API surrogate_status surrogate_context_reduce(surrogate_context* context, int32_t op,
                                                        int64_t n, double* values);

/* Returns a text for a log: version, ranks, ranks on this node, allowed cores, threads, vector
 * level, transport, each with its reason. It ends with a warning line if threads x ranks exceed the
 * cores. Local. Errors: INVALID_ARGUMENT (NULL), SHAPE (n_text). */
SURROGATE_API surrogate_status surrogate_context_describe(const surrogate_context* context,
                                                          char* text, int64_t* n_text);

/* A function that receives the library's log: on rank 0 the table of surrogate_plan_describe for
 * each new plan, old names of options, and check_note of surrogate_model_describe for each loaded
 * model that has one; on every rank the lines of range=warn about its own points. `user` is passed
 * through. */
typedef void (*surrogate_log_function)(void* user, const char* text);

/* Sets the log function of this rank; NULL: no log (default). Local. Errors: INVALID_ARGUMENT
 * (NULL context). */
SURROGATE_API surrogate_status surrogate_context_set_log(surrogate_context* context,
                                                         surrogate_log_function log, void* user);

/* Destroys a context. Local while other objects use it; the last destroy of its objects frees the
 * communicator and is Collective. Errors: none. */
SURROGATE_API void surrogate_context_destroy(surrogate_context** context);

/* ---- model ----------------------------------------------------------------------------------- */

/* Loads a model file: a safetensors file with a model card (page reference/model-file.md).
 * Collective: rank 0 reads and checks, and broadcasts the weights. path is used on rank 0 only.
 * Errors: IO, BAD_FILE (names the tensor or key, the expected and the found value), NOT_SUPPORTED
 * (family not built), NO_MEMORY. */
SURROGATE_API surrogate_status surrogate_model_load(surrogate_context* context, const char* path,
                                                    surrogate_model** model);

/* Loads a model from the bytes of a model file in memory: from an archive, a socket, or data of the
 * program. Collective: the bytes of rank 0 are used, other ranks may pass NULL and 0. They are not
 * kept and may be freed afterwards. Errors: as surrogate_model_load without IO; SHAPE (n_bytes
 * negative). Since 0.1 */
SURROGATE_API surrogate_status surrogate_model_load_memory(surrogate_context* context,
                                                           const void* bytes, int64_t n_bytes,
                                                           surrogate_model** model);

/* Creates a model from a card and its weights, without a file. Collective: the arguments of rank 0
 * are used, other ranks may pass NULL and 0. Everything is checked as in a file, and copied.
 *   card     JSON as under the key surrogate.card of a model file (page reference/model-file.md)
 *   tensors  [n_tensors] every weight of the card's network under its official name, in
 *            SURROGATE_FLOAT32 or SURROGATE_FLOAT64, which is rounded to single precision
 * Errors: as surrogate_model_load without IO; INVALID_ARGUMENT (NULL, type), SHAPE (counts,
 * extents). Since 0.1 */
SURROGATE_API surrogate_status surrogate_model_create(surrogate_context* context, const char* card,
                                                      int32_t n_tensors,
                                                      const surrogate_tensor* tensors,
                                                      surrogate_model** model);

/* Writes a model file: the card (with new checksums if it has some) and the weights in single
 * precision under their official names. A model loaded from it gives bitwise identical predictions.
 * The check case is not kept, since its reference values would belong to other weights. Collective;
 * rank 0 writes, and path is used there only.
 * The file is written to "<path>.surrogate.tmp" and renamed into place when it is complete. Until
 * then, and if writing fails, an earlier file stays unchanged. Links are followed, and an earlier
 * file keeps its permissions.
 * Errors: IO; INVALID_ARGUMENT (NULL); NOT_SUPPORTED (family torch). Since 0.1 */
SURROGATE_API surrogate_status surrogate_model_save(const surrogate_model* model, const char* path);

/* Roles of a field of the card. Outputs are all classes or none is. */
enum {
    SURROGATE_FIELD = 0,      /* bound by the caller */
    SURROGATE_COORDINATE = 1, /* taken from the domain, not bound */
    /* logit of a class; of one output: logit of class 1 of two. Since 0.2 */
    SURROGATE_CLASS = 2,
    /* input, bound by the caller: one number per cloud, which all points of the cloud read, such as
     * a Reynolds number or a time. Since 0.2 */
    SURROGATE_CLOUD = 3
};

/* One input or output field of the model's card. A network input is (value - mean) / std; a
 * prediction is value * std + mean. */
typedef struct surrogate_field_info {
    const char* name; /* such as "velocity.x" */
    const char* unit; /* "" if the card does not say */
    int32_t role;     /* SURROGATE_FIELD .. SURROGATE_CLOUD */
    int32_t axis;     /* of a coordinate: 0 .. 7; -1 for fields */
    double mean;      /* in the field's unit */
    double std;       /* standard deviation in the field's unit, > 0 */
    double min;       /* lower bound of the training data; -inf if the card does not give it */
    double max;       /* upper bound of the training data; inf if the card does not give it */
} surrogate_field_info;

/* Returns the number of input fields of the card. Local. Errors: INVALID_ARGUMENT (NULL). */
SURROGATE_API surrogate_status surrogate_model_n_inputs(const surrogate_model* model, int32_t* n);

/* Returns the number of output fields of the card. Local. Errors: INVALID_ARGUMENT (NULL). */
SURROGATE_API surrogate_status surrogate_model_n_outputs(const surrogate_model* model, int32_t* n);

/* Returns an input field of the card. Local. Errors: INVALID_ARGUMENT (NULL; no such index). */
SURROGATE_API surrogate_status surrogate_model_input(const surrogate_model* model, int32_t index,
                                                     surrogate_field_info* info);

/* Returns an output field of the card. Local. Errors: INVALID_ARGUMENT (NULL; no such index). */
SURROGATE_API surrogate_status surrogate_model_output(const surrogate_model* model, int32_t index,
                                                      surrogate_field_info* info);

/* Distribution of whole inputs over the training samples, as the card gives it (key `pooled`, page
 * reference/model-file.md); the guard `distance` compares a step with it. Pooling makes 2 numbers
 * of each input that is a field, in the card's order: mean and standard deviation over all points
 * of the network's value, (value - mean) / std. Points count with the domain's weights, on the
 * sphere with their area, else equally. */
typedef struct surrogate_input_statistics {
    int32_t n_feature;        /* 2 x fields; 0: the card has none, and the rest is NULL and 0 */
    const double* mean;       /* [n_feature] over the samples; belongs to the model */
    const double* covariance; /* [n_feature, n_feature] symmetric, positive definite; as mean */
    double quantile;          /* fraction of the samples, between 0 and 1 */
    double distance;          /* Mahalanobis distance that this fraction does not exceed */
    int64_t n_samples;        /* training samples, more than n_feature */
} surrogate_input_statistics;

/* Returns the distribution of the training inputs. Local. Errors: INVALID_ARGUMENT (NULL). Since
 * 0.1 */
SURROGATE_API surrogate_status surrogate_model_input_statistics(const surrogate_model* model,
                                                                surrogate_input_statistics* info);

/* Returns a number that identifies the model: XXH3-64 of the card (its JSON with sorted keys,
 * without checksums) and of all weights in single precision with their names and shapes, in their
 * present state (a trainer changes weights and ranges). It is the same on every rank and machine,
 * for a file and its copy, and for a file that surrogate_model_save writes. The check case is not
 * included. Reads all weights, once until they change. Local. Errors: INVALID_ARGUMENT (NULL).
 * Since 0.1 */
SURROGATE_API surrogate_status surrogate_model_hash(const surrogate_model* model, uint64_t* hash);

/* Kinds of domains. */
enum {
    SURROGATE_POINTS = 0, /* scattered points: surrogate_points */
    SURROGATE_SPHERE = 1  /* a grid on the sphere: surrogate_sphere */
};

/* Kind of domain that a model works on. */
typedef struct surrogate_domain_info {
    int32_t kind; /* SURROGATE_POINTS or SURROGATE_SPHERE */
    /* 1: a domain may have several clouds (surrogate_points), whose points do not attend to each
     * other; 0: surrogate_plan_create rejects domains of more than one cloud (sequences of words,
     * grids) */
    int32_t keeps_clouds;
    const char* grid; /* kind of the grid on the sphere; "" for scattered points */
    int64_t n_lat;    /* rows of the whole grid; 0 for scattered points */
    int64_t n_lon;    /* columns of the whole grid; 0 for scattered points */
} surrogate_domain_info;

/* Returns the kind of the input domain (is_output 0) or of the output domain (is_output 1) of
 * surrogate_plan_create. Local. Errors: INVALID_ARGUMENT (NULL). */
SURROGATE_API surrogate_status surrogate_model_domain(const surrogate_model* model,
                                                      int32_t is_output,
                                                      surrogate_domain_info* info);

/* Locations of a port's rows. */
enum {
    /* a row for each point of this rank in the input domain */
    SURROGATE_ON_INPUT = 0,
    /* a row for each point of this rank in the output domain */
    SURROGATE_ON_OUTPUT = 1,
    /* a row for each cloud of the input domain, on every rank (results that a network computes from
     * all points) */
    SURROGATE_ON_CLOUDS = 2,
    /* a row for each node that the network makes of the points, on every rank; the plan's counter
     * "nodes" is their number */
    SURROGATE_ON_NODES = 3,
    /* the points of the input domain; the tensor is their coordinates, one axis per channel. The
     * plan takes it from the domain (option `coordinates`), and it is not passed to
     * surrogate_plan_run_network. Only the first input may be such a port; a card that names inputs
     * begins with these coordinates */
    SURROGATE_COORDINATES = 4
};

/* Kinds of a port's numbers. */
enum {
    SURROGATE_REAL = 0,   /* SURROGATE_FLOAT32 or SURROGATE_FLOAT64 */
    SURROGATE_INTEGER = 1 /* SURROGATE_INT32 or SURROGATE_INT64, such as the tokens of a text */
};

/* A port: one named input or output tensor of the bare network (surrogate_plan_run_network),
 * [n, n_channel]. The card's fields are the channels of the ports, in this order. */
typedef struct surrogate_port_info {
    const char* name;  /* as in the family's specification, such as "x" */
    int64_t n_channel; /* columns of the tensor */
    int32_t is_output; /* 1: the network writes it */
    /* SURROGATE_ON_INPUT .. SURROGATE_COORDINATES. Inputs are usually on the input domain and
     * outputs on the output domain; the queries of an attention layer between two grids are inputs
     * on the output domain */
    int32_t location;
    int32_t kind; /* SURROGATE_REAL or SURROGATE_INTEGER */
} surrogate_port_info;

/* Returns the number of ports. Local. Errors: INVALID_ARGUMENT (NULL). */
SURROGATE_API surrogate_status surrogate_model_n_ports(const surrogate_model* model, int32_t* n);

/* Returns a port. Local. Errors: INVALID_ARGUMENT (NULL; no such index). */
SURROGATE_API surrogate_status surrogate_model_port(const surrogate_model* model, int32_t index,
                                                    surrogate_port_info* info);

/* Returns 1 if runs may omit this input, such as the mask of a sequence without padding: it is then
 * not passed to surrogate_plan_run_network, or its field is not bound. Returns 0 otherwise. Local.
 * Errors: INVALID_ARGUMENT (NULL; no such index). Since 0.1 */
SURROGATE_API surrogate_status surrogate_model_port_is_optional(const surrogate_model* model,
                                                                int32_t index,
                                                                int32_t* is_optional);

/* Returns the family of the model's card: "flare", .. Local. Errors: INVALID_ARGUMENT (NULL), SHAPE
 * (n_text). */
SURROGATE_API surrogate_status surrogate_model_family(const surrogate_model* model, char* text,
                                                      int64_t* n_text);

/* Returns a JSON object in ASCII:
 *   family, parameters, card  as in the file
 *   weights      by stored type: tensors, read = "as stored", "widened exactly" (F16, BF16) or
 *                "rounded to single" (F64)
 *   check        names and shapes of the tensors of the check case
 *   check_truth  "double": a prediction can be compared with the official run in double precision;
 *                "single": only with the run in single precision (no check/output64); "none": there
 *                is no check case for this network. Hyperparameters that cannot be inferred from
 *                the shapes of the weights (num_heads, activation, scale) are then not verified
 *   check_note   the same in words; absent if check_truth is "double"
 * Local. Errors: INVALID_ARGUMENT (NULL), SHAPE (n_text). */
SURROGATE_API surrogate_status surrogate_model_describe(const surrogate_model* model, char* text,
                                                        int64_t* n_text);

/* Destroys a model. Local, as surrogate_context_destroy. Errors: none. */
SURROGATE_API void surrogate_model_destroy(surrogate_model** model);

/* ---- check case ------------------------------------------------------------------------------ */

/* Loads the tensors check/input/.., check/output/.., check/output64/.. of a model file, by which a
 * machine verifies that it reproduces the author's results (page reference/model-file.md; one of
 * the outputs may be missing). Collective; every rank holds them completely. Errors: as
 * surrogate_model_load; NOT_SUPPORTED if the file has no check case: neither a check/output/.. nor
 * a check/output64/.. */
SURROGATE_API surrogate_status surrogate_check_case_load(surrogate_context* context,
                                                         const char* path,
                                                         surrogate_check_case** check_case);

/* Returns the number of tensors of a check case. Local. Errors: INVALID_ARGUMENT (NULL). */
SURROGATE_API surrogate_status
surrogate_check_case_n_tensors(const surrogate_check_case* check_case, int32_t* n);

/* Returns a tensor of a check case. Its name is without "check/": "input/x"; name and data belong
 * to the check case. Local. Errors: INVALID_ARGUMENT (NULL; no such index). */
SURROGATE_API surrogate_status surrogate_check_case_tensor(const surrogate_check_case* check_case,
                                                           int32_t index, surrogate_tensor* tensor);

/* Destroys a check case. Local. Errors: none. */
SURROGATE_API void surrogate_check_case_destroy(surrogate_check_case** check_case);

/* Returns the allowed difference |y - truth| / |truth| (L2 norm) between the prediction of a check
 * case and its truth: the bound of `surrogate check` (page reference/model-file.md). It depends on
 * the model, because official runs of some families are less accurate than others.
 *   precision  precision of the plan: "fp32", ..; see surrogate_options_create
 *   is_double  1: the truth is check/output64; 0: check/output
 *   official   |check/output - check/output64| / |check/output64|; NaN if one of them is missing
 * Local. Errors: INVALID_ARGUMENT (precision; NULL). Since 0.1 */
SURROGATE_API surrogate_status surrogate_model_check_bound(const surrogate_model* model,
                                                           const char* precision, int32_t is_double,
                                                           double official, double* bound);

/* ---- domain ---------------------------------------------------------------------------------- */

/* Scattered points of this rank, in any partition. n_local, the first extent of x, may differ
 * between ranks and be 0. Ghost points must be left out: a point counts once. A rank without points
 * may pass NULL for arrays that others pass. */
typedef struct surrogate_points {
    /* [n_local, 0..8] coordinates in the unit of the model's card; [n_local, 0] for points without
     * coordinates */
    surrogate_array x;
    /* [n_local] distinct over all ranks, or NULL. The reproducible mode orders points by it
     * (without ids by coordinates, which must then differ from point to point of a cloud); messages
     * name points by it */
    const int64_t* global_id;
    /* [n_local] the cloud of each point, or NULL: all points belong to cloud 0. Points of different
     * clouds do not attend to each other: many small problems in one run (cell problems, columns,
     * events of a detector, samples of a batch). Clouds are numbered from 0, below the number of
     * points of all ranks; the points of a cloud may be on any ranks, in any order. Clouds on one
     * rank are computed there */
    const int64_t* cloud;
    /* [n_local] finite, not negative: the volume, area or mass of a point, or NULL. Used for
     * integrals over the domain, and by networks that count points with it (FLARE with
     * network.point_weights on the card): there a point of weight 0 receives a prediction and does
     * not influence others */
    const double* weight;
} surrogate_points;

/* Creates a domain of scattered points. Collective; the arrays are copied.
 * Errors: SHAPE, LIMIT (x, as for any surrogate_array), NOT_FINITE (names the point),
 * INVALID_ARGUMENT (NULL; an invalid cloud or weight; ranks that pass different arrays),
 * NO_MEMORY. */
SURROGATE_API surrogate_status surrogate_domain_create_points(surrogate_context* context,
                                                              const surrogate_points* points,
                                                              surrogate_domain** domain);

/* Returns this rank's points in a domain of scattered points: x as double, axis by axis. The memory
 * belongs to the domain, must not be written, and is valid until the points change. Local. Errors:
 * NOT_SUPPORTED (a grid), INVALID_ARGUMENT (NULL). Since 0.1 */
SURROGATE_API surrogate_status surrogate_domain_points(const surrogate_domain* domain,
                                                       surrogate_points* points);

/* Replaces the points of a domain that plans use: new coordinates, and new counts if points have
 * appeared, disappeared or changed their rank. Collective. The plans stay valid; each adapts in its
 * next run, where all ranks agree: a plan that cannot work on the new points reports the error from
 * that run, on all ranks.
 *   points  as in surrogate_domain_create_points, with the same number of coordinates; ids, clouds
 *           and weights are passed if they were passed before
 * Bound fields stay bound while this rank's number of points is unchanged; a run with arrays of
 * another length is SURROGATE_SHAPE, and requires that they are bound again.
 * Does not allocate on the host while this rank has at most as many points as ever before; plans in
 * reproducible mode sort their points again, and plans on a device are made again, which allocates.
 * Errors: as surrogate_domain_create_points, after which the domain is unchanged; NOT_SUPPORTED (a
 * grid on the sphere). Since 0.1 */
SURROGATE_API surrogate_status surrogate_domain_update_points(surrogate_domain* domain,
                                                              const surrogate_points* points);

/* Sets the edges between the points, for models that pass messages along a graph; other models do
 * not read them. Collective; the arrays are copied. Edges of an earlier call are replaced, and
 * plans adapt in their next run. The domain keeps them until the points change; then set them again
 * before the next run.
 *   source, target  [n_edge] global ids; messages go from source to target. Each edge is passed
 *                   once, by any rank, in any order; an edge that is passed twice counts twice.
 *                   NULL if n_edge is 0
 * Errors: INVALID_ARGUMENT (no point has such an id; a domain without ids, or with equal ones),
 * LIMIT (n_edge), NOT_SUPPORTED (a grid), NO_MEMORY; the edges are then unchanged. Since 0.1 */
SURROGATE_API surrogate_status surrogate_domain_set_edges(surrogate_domain* domain, int64_t n_edge,
                                                          const int64_t* source,
                                                          const int64_t* target);

/* Returns the number of clouds: 1 + the largest index over all ranks; 1 without indices, and for
 * grids. Local. Errors: INVALID_ARGUMENT (NULL). Since 0.1 */
SURROGATE_API surrogate_status surrogate_domain_n_clouds(const surrogate_domain* domain,
                                                         int64_t* n);

/* A block of a grid on the sphere in the solver's layout: whole bands of latitude, or latitude x
 * longitude blocks. The blocks of all ranks tile the sphere; a rank may have none (n_lat_local or
 * n_lon_local 0). The plan flips rows and shifts columns to the model's order. */
typedef struct surrogate_sphere {
    /* nodes of the rows: "equiangular" (both poles), "legendre-gauss", "lobatto",
     * "equiangular-trapezoidal" (equispaced in the sine of latitude) */
    const char* grid;
    int64_t n_lat;       /* rows of the whole sphere */
    int64_t n_lon;       /* columns of the whole sphere, equispaced, without a doubled end point */
    int64_t first_lat;   /* this rank's first row, as the solver counts them */
    int64_t n_lat_local; /* number of this rank's rows */
    int64_t first_lon;   /* this rank's first column, as the solver counts them */
    int64_t n_lon_local; /* number of this rank's columns */
    /* [n_lat_local] degrees north of the rows, in either direction; NULL: the nodes of the grid */
    const double* latitude;
    /* [n_lon_local] degrees east of the columns, ascending (modulo 360 degrees); NULL:
     * first_longitude + 360 * column / n_lon */
    const double* longitude;
    int32_t south_to_north; /* latitude NULL: 0: row 0 is the northernmost, 1: the southernmost */
    double first_longitude; /* longitude NULL: degrees east of column 0 */
    /* layout of this block's fields: point (i, j) is element (i * lat_stride + j * lon_stride) *
     * stride[0] of a bound array, whose shape[0] is n_lat_local * n_lon_local for any strides. An
     * array u(n_lat + 2, n_lon + 2) of Fortran with one layer of ghosts has lat_stride 1 and
     * lon_stride n_lat + 2, and is bound from its first interior point */
    int64_t lat_stride;
    int64_t lon_stride; /* see lat_stride; both 0: n_lon_local and 1, rows without gaps */
} surrogate_sphere;

/* Creates a spherical domain. Collective; the arrays are copied.
 * Errors: INVALID_ARGUMENT (unknown grid; rows whose latitudes are not nodes of the grid, with both
 * lists; blocks that overlap or leave points out, naming the ranks; ranks that disagree), SHAPE
 * (counts, strides), NOT_FINITE. */
SURROGATE_API surrogate_status surrogate_domain_create_sphere(surrogate_context* context,
                                                              const surrogate_sphere* sphere,
                                                              surrogate_domain** domain);

/* Returns this rank's block in a spherical domain, with the strides in force; latitude and
 * longitude are NULL. Local. Errors: NOT_SUPPORTED (scattered points), INVALID_ARGUMENT (NULL).
 * Since 0.1 */
SURROGATE_API surrogate_status surrogate_domain_sphere(const surrogate_domain* domain,
                                                       surrogate_sphere* sphere);

/* Returns the nodes of a grid on the sphere, as torch-harmonics defines them.
 *   latitude   [n_lat] degrees north, from north to south, or NULL
 *   longitude  [n_lon] degrees east, from 0, or NULL
 *   weight     [n_lat] fraction of the sphere's area of one point of the row: the sum over all
 *              points of the grid is 1; or NULL
 * Local. Errors: INVALID_ARGUMENT (unknown grid), SHAPE (counts). */
SURROGATE_API surrogate_status surrogate_sphere_nodes(const char* grid, int64_t n_lat,
                                                      int64_t n_lon, double* latitude,
                                                      double* longitude, double* weight);

/* Returns the number of points on this rank and on all ranks; either may be NULL. Local. Errors:
 * INVALID_ARGUMENT (NULL domain). */
SURROGATE_API surrogate_status surrogate_domain_n_points(const surrogate_domain* domain,
                                                         int64_t* n_local, int64_t* n_global);

/* Destroys a domain. Local, as surrogate_context_destroy. Errors: none. */
SURROGATE_API void surrogate_domain_destroy(surrogate_domain** domain);

/* The points of a domain in the canonical ordering, which does not depend on the partition, for
 * files and comparisons: scattered points by global id, without ids by coordinates; grids on the
 * sphere row by row from north to south, each from longitude 0 eastwards. Rank r holds a contiguous
 * range of that ordering, balanced as "contiguous" of surrogate_partition. */
typedef struct surrogate_ordering surrogate_ordering;

/* Creates the canonical ordering of a domain's present points; create it again after
 * surrogate_domain_update_points. Collective.
 *   row_bytes  size of the largest row that will be sent
 * Errors: INVALID_ARGUMENT (equal ids; without ids equal points, which are named; points with
 * neither), SHAPE (row_bytes below 1), NO_MEMORY. Since 0.1 */
SURROGATE_API surrogate_status surrogate_ordering_create(const surrogate_domain* domain,
                                                         int64_t row_bytes,
                                                         surrogate_ordering** order);

/* Returns this rank's range: first and n of the positions 0 .. n_global - 1. Local. Errors:
 * INVALID_ARGUMENT (NULL). */
SURROGATE_API surrogate_status surrogate_ordering_range(const surrogate_ordering* order,
                                                        int64_t* first, int64_t* n);

/* Sends rows of row_bytes bytes from the solver's partition to the canonical ordering. Collective;
 * does not allocate. The two arrays must not overlap; rows are copied unchanged.
 *   row_bytes  the same on all ranks, at most the value at creation
 *   local      [n_local, row_bytes] in the domain's order: as x of surrogate_points, or row by row
 *              of the block of surrogate_sphere
 *   ordered    [n of the range, row_bytes]
 * Either may be NULL if it has no rows. Besides the rows, 8 and 16 bytes are reduced, so that
 * invalid arguments of one rank are an error on all. Errors: SHAPE (row_bytes), INVALID_ARGUMENT
 * (NULL; ranks that disagree); nothing is written then. */
SURROGATE_API surrogate_status surrogate_ordering_to_canonical(const surrogate_ordering* order,
                                                               int64_t row_bytes, const void* local,
                                                               void* ordered);

/* Sends rows from the canonical ordering to the solver's partition: the inverse of
 * surrogate_ordering_to_canonical, with the same arguments. Collective; does not allocate. Errors:
 * SHAPE (row_bytes), INVALID_ARGUMENT (NULL; ranks that disagree); nothing is written then. */
SURROGATE_API surrogate_status surrogate_ordering_to_local(const surrogate_ordering* order,
                                                           int64_t row_bytes, const void* ordered,
                                                           void* local);

/* Destroys an ordering. Local, as surrogate_context_destroy. Errors: none. */
SURROGATE_API void surrogate_ordering_destroy(surrogate_ordering** order);

/* Returns the rows of 0 .. n_rows - 1 that `rank` of `size` owns in a named partition: "contiguous"
 * (balanced, larger parts first), "scattered" (seeded shuffle, dealt round robin), "uneven" (empty,
 * half, and equal parts). rows NULL: only the count. Local. Errors: INVALID_ARGUMENT (kind, rank,
 * size), SHAPE (n_rows negative). */
SURROGATE_API surrogate_status surrogate_partition(const char* kind, int64_t n_rows, int32_t rank,
                                                   int32_t size, int64_t* rows, int64_t* n_local);

/* Returns the block of a grid that `rank` of `size` owns in a named partition: "contiguous" and
 * "uneven" distribute whole rows as surrogate_partition does; "scattered": n_lat x n_lon blocks,
 * the largest divisor of `size` whose square is at most `size` along latitude, balanced both ways.
 *   block  {first row, rows, first column, columns}
 * Local. Errors: INVALID_ARGUMENT (kind, rank, size), SHAPE (counts). */
SURROGATE_API surrogate_status surrogate_partition_sphere(const char* kind, int64_t n_lat,
                                                          int64_t n_lon, int32_t rank, int32_t size,
                                                          int64_t block[4]);

/* ---- plan ------------------------------------------------------------------------------------ */

/* Creates a plan: everything that an evaluation needs, such as orderings, message patterns and
 * workspace. Collective. output NULL: the same domain as input. options NULL: the options of the
 * context. Points without coordinates can be used with surrogate_plan_run_network only, for
 * networks without a port of coordinates.
 * Errors: NOT_SUPPORTED (backend, precision; no device; several clouds), DEVICE, SHAPE (coordinates
 * that the domain does not have), UNKNOWN_NAME, INVALID_ARGUMENT (model, domain of another context;
 * ranks with different models, compared by surrogate_model_hash, or with domains of different
 * numbers of points; equal points in reproducible mode), NO_MEMORY. */
SURROGATE_API surrogate_status surrogate_plan_create(const surrogate_model* model,
                                                     const surrogate_domain* input,
                                                     const surrogate_domain* output,
                                                     const surrogate_options* options,
                                                     surrogate_plan** plan);

/* Creates a plan in one call, with a context, model and domain of its own; only the plan must be
 * destroyed. One rank, without MPI; surrogate_plan_open_mpi in surrogate_mpi.h is for several.
 *   path     the model file
 *   points   as in surrogate_domain_create_points
 *   options  of the context, or NULL
 * surrogate_plan_context, _model and _domain return the parts. After an error nothing is left, and
 * surrogate_error(NULL) has the text. Local. Errors: as surrogate_context_create,
 * surrogate_model_load, surrogate_domain_create_points and surrogate_plan_create. Since 0.1 */
SURROGATE_API surrogate_status surrogate_plan_open(const char* path, const surrogate_points* points,
                                                   const surrogate_options* options,
                                                   surrogate_plan** plan);

/* Returns a new handle of the context of a plan, for wrappers that hold only the plan. The caller
 * destroys it, before or after the plan. Local. Errors: INVALID_ARGUMENT (NULL), NO_MEMORY. Since
 * 0.1 */
SURROGATE_API surrogate_status surrogate_plan_context(const surrogate_plan* plan,
                                                      surrogate_context** context);

/* Returns a new handle of the model of a plan, as surrogate_plan_context. Local. Errors:
 * INVALID_ARGUMENT (NULL), NO_MEMORY. Since 0.1 */
SURROGATE_API surrogate_status surrogate_plan_model(const surrogate_plan* plan,
                                                    surrogate_model** model);

/* Returns a new handle of the input domain (is_output 0) or output domain (is_output 1) of a plan,
 * as surrogate_plan_context. Local. Errors: INVALID_ARGUMENT (NULL), NO_MEMORY. Since 0.1 */
SURROGATE_API surrogate_status surrogate_plan_domain(const surrogate_plan* plan, int32_t is_output,
                                                     surrogate_domain** domain);

/* Agrees on a status over the ranks of a plan, as surrogate_context_agree: for wrappers without a
 * handle of the context, such as those that have just failed to get one. Collective. Errors: the
 * agreed status, MPI. Since 0.1 */
SURROGATE_API surrogate_status surrogate_plan_agree(surrogate_plan* plan, surrogate_status status,
                                                    const char* text);

/* Binds an array to an input field of the card: [n_local, 1], float or double, any stride. Binding
 * again replaces the array; costs little. The memory belongs to the caller and is read by every
 * later run; it may also be an output.
 *   Fields at clouds or nodes (surrogate_port_info: the card's fields are the ports' channels) have
 *   a row for each of these, on every rank; fields of integer ports are int32 or int64.
 *   Fields of role SURROGATE_CLOUD: [n_clouds, 1] on the host, or [1, 1], one number for all clouds
 *   (surrogate_column_f64(&speed, 1, 1)). Every rank has the same numbers, which runs compare only
 *   with agree=true, in one reduction: INVALID_ARGUMENT on all ranks.
 *   unit   the unit of the array, which must equal the card's, or NULL for no check
 *   Vectors and tensors are one field per component on the card: velocity.x, velocity.y,
 *   velocity.z; stress.xx, stress.xy, .. The name before the dot binds all of them at once, to an
 *   array [n_local, n_component] whose columns are the components in alphabetical order.
 * Local. Errors: UNKNOWN_NAME (lists the card's fields), SHAPE, LIMIT, INVALID_ARGUMENT (unit;
 * memory space; NULL). */
SURROGATE_API surrogate_status surrogate_plan_bind_input(surrogate_plan* plan, const char* name,
                                                         const char* unit,
                                                         const surrogate_array* array);

/* Binds an array to an output field of the card, as surrogate_plan_bind_input. Every later run
 * writes it; outputs are only written. Local. Errors: UNKNOWN_NAME (lists the card's fields),
 * SHAPE, LIMIT, INVALID_ARGUMENT (unit; memory space; NULL). */
SURROGATE_API surrogate_status surrogate_plan_bind_output(surrogate_plan* plan, const char* name,
                                                          const char* unit,
                                                          const surrogate_array* array);

/* Binds one input field in a strided block of up to 4 axes, without a copy: for arrays with ghost
 * points. The points of the block, first axis fastest, are the domain's. For scattered points and
 * host backends only (grids on the sphere have lat_stride and lon_stride). Local. Errors: as
 * surrogate_plan_bind_input; NOT_SUPPORTED. Since 0.1 */
SURROGATE_API surrogate_status surrogate_plan_bind_input_block(surrogate_plan* plan,
                                                               const char* name, const char* unit,
                                                               const surrogate_block* block);

/* Binds one output field in a strided block, as surrogate_plan_bind_input_block. Local. Errors: as
 * surrogate_plan_bind_input; NOT_SUPPORTED. Since 0.1 */
SURROGATE_API surrogate_status surrogate_plan_bind_output_block(surrogate_plan* plan,
                                                                const char* name, const char* unit,
                                                                const surrogate_block* block);

/* Removes all bound arrays, gradients included, but keeps numbers per cloud (SURROGATE_CLOUD):
 * a run before arrays are bound again is an error. For callers whose arrays are valid only between
 * two calls, such as arrays of PETSc vectors. Local. Errors: INVALID_ARGUMENT (NULL). */
SURROGATE_API surrogate_status surrogate_plan_unbind(surrogate_plan* plan);

/* Evaluates the surrogate once on the bound fields: normalization, network, denormalization. Called
 * by all ranks of the context (Collective), but without agreement between them: a rank with an
 * error (unbound field, non-finite value) takes part in all exchanges, sends NaN and returns its
 * own status; with check_finite the others return NOT_FINITE. No rank waits, outputs are then NaN
 * or unchanged, and the next correct run is exact. Does not allocate.
 *   agree=true   all ranks return the status of the first failed rank, with its text, as
 *                surrogate_context_agree does; on a stream a run then waits for its own work
 * Errors: NOT_FINITE, OUT_OF_RANGE, SHAPE (arrays of another length), INVALID_ARGUMENT (unbound
 * field), DEVICE, MPI, BROKEN. */
SURROGATE_API surrogate_status surrogate_plan_run(surrogate_plan* plan);

/* Replaces surrogate_plan_run on a rank that cannot run while others do: takes part in all
 * exchanges, sends NaN, and returns `status` with `text` (with agree=true the agreed ones). For
 * adapters that fail before they can bind arrays. Outputs are not written. Collective, with
 * surrogate_plan_run of the other ranks. Errors: `status`; INVALID_ARGUMENT (status is
 * SURROGATE_SUCCESS). */
SURROGATE_API surrogate_status surrogate_plan_run_with_error(surrogate_plan* plan,
                                                             surrogate_status status,
                                                             const char* text);

/* Evaluates the bare network, without the card's normalization, coordinates and names: input and
 * output tensors under the names of the family's specification ("x" -> "y" for FLARE), each
 * [n_local, n_channel], or with the rows of its surrogate_port_info. Ports of coordinates are not
 * passed. Collective and with the errors of surrogate_plan_run. Errors: as surrogate_plan_run;
 * UNKNOWN_NAME. */
SURROGATE_API surrogate_status surrogate_plan_run_network(surrogate_plan* plan, int32_t n_inputs,
                                                          const surrogate_named_array* inputs,
                                                          int32_t n_outputs,
                                                          const surrogate_named_array* outputs);

/* Binds w, the gradient of any number L of the caller with respect to an output field of the card:
 * w[i] = dL / d(output in row i), in physical units. The plan has option gradients=inputs. The
 * array has the shape that surrogate_plan_bind_output takes, is on the host, belongs to the caller,
 * and is read by every later surrogate_plan_run_backward. L may be a sum over all ranks: each rank
 * has the rows of its own points; rows of clouds and nodes are the same on every rank. Outputs
 * without such an array have w = 0.
 *   name   of a field, or of a vector as in surrogate_plan_bind_input
 *   unit   the unit of the output in dL / d(output), which must equal the card's, or NULL
 * Local. Errors: as surrogate_plan_bind_output; INVALID_ARGUMENT (a plan without gradients=inputs).
 * Since 0.2 */
SURROGATE_API surrogate_status surrogate_plan_bind_output_gradient(surrogate_plan* plan,
                                                                   const char* name,
                                                                   const char* unit,
                                                                   const surrogate_array* w);

/* Binds g, the gradient with respect to an input field of the card, coordinates included:
 * g[i] = dL / d(input in row i), in physical units (with coordinates=normalized: of coordinates as
 * the domain has them). The array belongs to the caller, is on the host, and is written by every
 * later surrogate_plan_run_backward.
 *   Fields at points, coordinates: [n_local, 1]
 *   Fields of role SURROGATE_CLOUD: as the input is bound, [n_clouds, 1], or [1, 1] for one number
 *   of all clouds; the derivative is summed over the points of all ranks and is the same on every
 *   rank
 *   name   of a field, or of a vector as in surrogate_plan_bind_input
 *   unit   the unit of the input in dL / d(input), which must equal the card's, or NULL
 * Local. Errors: as surrogate_plan_bind_input; INVALID_ARGUMENT (a plan without gradients=inputs),
 * NOT_SUPPORTED (whole numbers, classes and optional inputs). Since 0.2 */
SURROGATE_API surrogate_status surrogate_plan_bind_input_gradient(surrogate_plan* plan,
                                                                  const char* name,
                                                                  const char* unit,
                                                                  const surrogate_array* g);

/* Binds w of one output field in a strided block, as surrogate_plan_bind_output_block. Local.
 * Errors: as surrogate_plan_bind_output_gradient; NOT_SUPPORTED. Since 0.2 */
SURROGATE_API surrogate_status surrogate_plan_bind_output_gradient_block(surrogate_plan* plan,
                                                                         const char* name,
                                                                         const char* unit,
                                                                         const surrogate_block* w);

/* Binds g of one input field in a strided block, as surrogate_plan_bind_input_block. Local. Errors:
 * as surrogate_plan_bind_input_gradient. Since 0.2 */
SURROGATE_API surrogate_status surrogate_plan_bind_input_gradient_block(surrogate_plan* plan,
                                                                        const char* name,
                                                                        const char* unit,
                                                                        const surrogate_block* g);

/* Computes g = J^T w, where J is the Jacobian of the outputs with respect to the inputs in the last
 * surrogate_plan_run, in physical units: reads the arrays of surrogate_plan_bind_output_gradient
 * and writes the arrays of surrogate_plan_bind_input_gradient, over all ranks. A run is followed by
 * at most one backward run. Trees, orderings, and the blocks and neighbors that attention has
 * chosen stay as in the run, and count as constants; so do weights of points and clouds. Fields
 * bound to inputs and outputs are not read again. Collective, without agreement, as
 * surrogate_plan_run: a rank with an error takes part in all exchanges, the others return
 * NOT_FINITE and their g is NaN; with agree=true all ranks return the status of the first failed
 * rank. With reproducible=true g is bitwise identical for any number of ranks and threads. Does not
 * allocate.
 * Errors: INVALID_ARGUMENT (a plan without gradients=inputs; no surrogate_plan_run since the last
 * backward run, or points have moved since), NOT_FINITE (w; the run; a derivative), SHAPE (arrays
 * of another length), MPI, BROKEN. Since 0.2 */
SURROGATE_API surrogate_status surrogate_plan_run_backward(surrogate_plan* plan);

/* Binds v, a direction of an input field of the card: v[i] is a change of the input in row i, in
 * physical units. The plan has option gradients=inputs. The array has the shape that the input is
 * bound with, is on the host, belongs to the caller, and is read by every later
 * surrogate_plan_run_tangent. Inputs without such an array have v = 0.
 *   name   of a field, or of a vector as in surrogate_plan_bind_input
 *   unit   the unit of the input, which must equal the card's, or NULL
 * Local. Errors: as surrogate_plan_bind_input; INVALID_ARGUMENT (a plan without gradients=inputs),
 * NOT_SUPPORTED (coordinates, whole numbers and optional inputs; every input of hept, and of bsa
 * unless attention is ball or global: their predictions jump where choices change). Since 0.2 */
SURROGATE_API surrogate_status surrogate_plan_bind_input_tangent(surrogate_plan* plan,
                                                                 const char* name, const char* unit,
                                                                 const surrogate_array* v);

/* Binds the result of surrogate_plan_run_tangent for an output field of the card, J v, in physical
 * units. The array has the shape that surrogate_plan_bind_output takes, is on the host, and belongs
 * to the caller. Outputs without such an array are left out.
 *   name   of a field, or of a vector as in surrogate_plan_bind_input
 *   unit   the unit of the output, which must equal the card's, or NULL
 * Local. Errors: as surrogate_plan_bind_output; INVALID_ARGUMENT (a plan without gradients=inputs).
 * Since 0.2 */
SURROGATE_API surrogate_status surrogate_plan_bind_output_tangent(surrogate_plan* plan,
                                                                  const char* name,
                                                                  const char* unit,
                                                                  const surrogate_array* jv);

/* Binds v of one input field in a strided block, as surrogate_plan_bind_input_block. Local. Errors:
 * as surrogate_plan_bind_input_tangent. Since 0.2 */
SURROGATE_API surrogate_status surrogate_plan_bind_input_tangent_block(surrogate_plan* plan,
                                                                       const char* name,
                                                                       const char* unit,
                                                                       const surrogate_block* v);

/* Binds J v of one output field in a strided block, as surrogate_plan_bind_output_block. Local.
 * Errors: as surrogate_plan_bind_output_tangent; NOT_SUPPORTED. Since 0.2 */
SURROGATE_API surrogate_status surrogate_plan_bind_output_tangent_block(surrogate_plan* plan,
                                                                        const char* name,
                                                                        const char* unit,
                                                                        const surrogate_block* jv);

/* Computes J v, the derivative of the outputs along v at the bound inputs, in physical units, over
 * all ranks, as a central difference of predictions at the inputs plus and minus h v. With
 * precision=fp64: two runs, h moves the input that changes most by 2^-17 of its std on the card,
 * the relative error of J v is about 1e-9. Otherwise: four runs at h and 2 h, 2^-5 of the std,
 * about 3e-5 where predictions bend little over 2 h. Reads the arrays bound to inputs now; a
 * surrogate_plan_run before it is not needed, and predictions are not written. Takes the memory of
 * one more plan, without gradients, from the first call on.
 * Collective, with errors as surrogate_plan_run: a rank with an error takes part in all exchanges,
 * and its J v is NaN. With reproducible=true J v is bitwise identical for any number of ranks and
 * threads. The first call allocates, later calls do not unless points have moved.
 * Errors: INVALID_ARGUMENT (a plan without gradients=inputs; inputs unbound), NOT_SUPPORTED (hept,
 * and bsa unless attention is ball or global), NOT_FINITE (v, an input, a prediction), SHAPE
 * (arrays of another length), NO_MEMORY, MPI, BROKEN. Since 0.2 */
SURROGATE_API surrogate_status surrogate_plan_run_tangent(surrogate_plan* plan);

/* Sets the stream of a plan with backend cuda (others: NOT_SUPPORTED): a cudaStream_t of the caller
 * on the plan's device; NULL is the default stream. May be called again; work in progress continues
 * in order. The stream must exist until another one is set or the plan is destroyed.
 *   No stream set   the plan has a stream of its own. The caller's work on bound device arrays must
 *                   be complete when surrogate_plan_run is called; it returns when the results are
 *                   complete.
 *   Stream set      a run is ordered after work enqueued before it, and before work enqueued later.
 *                   If all bound arrays are on the device, surrogate_plan_run only enqueues: it
 *                   returns at once, without waiting on the host, and the arrays must not be
 *                   changed until the stream has passed it. Its errors (NOT_FINITE, DEVICE) are
 *                   returned by surrogate_plan_wait, or by the first later run that finds the
 *                   stream done. At most 64 runs are ahead of the host; the next one waits.
 *                   With arrays on the host, in reproducible mode, or with invalid arguments, a run
 *                   waits for its own work. If reductions pass through the host (MPI, see
 *                   surrogate_plan_describe) it waits for each of them.
 *   A stream that is being captured into a CUDA graph is rejected, here and by surrogate_plan_run
 *   (NOT_SUPPORTED); the capture stays valid.
 *   Another user of NCCL in the process must not have operations in progress at the same time as
 *   plans on a different stream, or ranks may wait for each other until timeout_s. Give plans the
 *   stream of the other user; page how-to/use-gpus.md lists the alternatives.
 * Local. Errors: NOT_SUPPORTED, DEVICE, INVALID_ARGUMENT (NULL). */
SURROGATE_API surrogate_status surrogate_plan_set_stream(surrogate_plan* plan, void* stream);

/* Waits on the host until all enqueued runs are done, and returns the error of the earliest one
 * that failed; the text names the run. Success for plans of other backends. Local, but runs end
 * only when all ranks have called them. Errors: NOT_FINITE, OUT_OF_RANGE, DEVICE, BROKEN. */
SURROGATE_API surrogate_status surrogate_plan_wait(surrogate_plan* plan);

/* Returns the value in force of an option of surrogate_options_create, "auto" resolved: "simd",
 * "avx2", "2". Does not allocate. Local. Errors: UNKNOWN_NAME (key), SHAPE (n_text). */
SURROGATE_API surrogate_status surrogate_plan_option(const surrogate_plan* plan, const char* key,
                                                     char* text, int64_t* n_text);

/* Returns a counter of this rank:
 *   bytes_sent       payload sent by the last run, or backward run
 *   collectives      collective calls of the last run, or backward run
 *   runs             runs so far
 *   workspace_bytes  memory of the plan (backend cuda: on the device, without weights)
 *   points_local     points that this rank computes (reproducible mode: not as in the domain)
 *   nodes            rows of ports at nodes
 *   flops            operations of a run, a multiply-add as two. Since 0.2
 *   exponentials     exponentials of a run. Since 0.2
 *   outside_range    values outside the card's ranges, all inputs (surrogate_plan_range)
 * Local. Errors: UNKNOWN_NAME (key), INVALID_ARGUMENT (NULL). */
SURROGATE_API surrogate_status surrogate_plan_counter(const surrogate_plan* plan, const char* key,
                                                      int64_t* value);

/* Extrapolation: count of this rank's values of one input outside the range of the training data on
 * the card. */
typedef struct surrogate_range_info {
    const char* name;  /* of the input on the card */
    double min;        /* of the card at that run; -inf: no lower bound */
    double max;        /* of the card at that run; inf: no upper bound */
    int64_t n_points;  /* all values: the points of this rank's input domain */
    int64_t n_outside; /* values below min or above max */
    double worst;      /* the value farthest outside; 0 if n_outside is 0 */
} surrogate_range_info;

/* Returns the extrapolation of an input, numbered as in surrogate_model_input. Every run counts, in
 * the pass that reads the fields.
 *   fields        of the last surrogate_plan_run; 0 before the first, and after
 *                 surrogate_plan_run_network, which does not use the card. With a stream set: of
 *                 the last run whose end the host has seen (surrogate_plan_wait)
 *   coordinates   of the domain, which every run uses
 * NaN and infinity are not counted: they are SURROGATE_NOT_FINITE. Local. Errors: INVALID_ARGUMENT
 * (NULL; no such input). */
SURROGATE_API surrogate_status surrogate_plan_range(const surrogate_plan* plan, int32_t input,
                                                    surrogate_range_info* info);

/* Returns a table for a log: points, options, the ranges of all ranks' coordinates beside the
 * card's and the coordinates that the model ignores, and per layer bytes, collectives, flops and
 * exponentials of this rank. Local. Errors: INVALID_ARGUMENT (NULL), SHAPE (n_text). */
SURROGATE_API surrogate_status surrogate_plan_describe(const surrogate_plan* plan, char* text,
                                                       int64_t* n_text);

/* Destroys a plan. Local, as surrogate_context_destroy. Errors: none. */
SURROGATE_API void surrogate_plan_destroy(surrogate_plan** plan);

#ifdef __cplusplus
}
#endif

#endif
