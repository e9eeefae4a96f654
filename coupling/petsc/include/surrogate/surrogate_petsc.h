/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SURROGATE_PETSC_H
#define SURROGATE_PETSC_H

/* Uses the library from PETSc programs: contexts with options from PETSc's database, domains from a
 * DM, predictions in Vecs.
 *
 * - Functions return a PetscErrorCode. An error of the library becomes a PETSc error once, on the
 *   rank that returns it, with the library's text (PetscErrorMessage returns it);
 *   surrogate_petsc_error_code lists the codes.
 * - Objects have the types of surrogate.h; its functions accept and destroy them. Destroy them
 *   before PetscFinalize if PETSc started MPI.
 * - The caller calls PetscInitialize; signal and error handlers are not changed.
 * - -log_view shows the events SurrPlan (models, domains, plans), SurrRun, and SurrGuess (initial
 *   guesses, runs included).
 * PETSc must be real; float and double both work. */

#include <petscdm.h>
#include <petscmat.h>
#include <petscvec.h>
#include <surrogate/surrogate.h>
#include <surrogate/surrogate_timeloop.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the PETSc error code of a status: SHAPE is PETSC_ERR_ARG_SIZ, NOT_FINITE is PETSC_ERR_FP,
 * INVALID_ARGUMENT and UNKNOWN_NAME are PETSC_ERR_ARG_WRONG, NOT_SUPPORTED is PETSC_ERR_SUP, IO is
 * PETSC_ERR_FILE_OPEN, BAD_FILE is PETSC_ERR_FILE_UNEXPECTED, NO_MEMORY is PETSC_ERR_MEM, DEVICE is
 * PETSC_ERR_GPU, OUT_OF_RANGE is PETSC_ERR_ARG_OUTOFRANGE, MPI and BROKEN are PETSC_ERR_MPI,
 * others are PETSC_ERR_LIB. PETSC_ERR_MPI may be the error of one rank while the others wait for
 * this rank. A program that handles errors must call MPI_Abort then, as PETSc does for errors that
 * reach main(). Local. Errors: none. */
SURROGATE_API PetscErrorCode surrogate_petsc_error_code(surrogate_status status);

/* Calls a function of surrogate.h inside a function that returns PetscErrorCode. */
#define PetscCallSurrogate(...)                                                           \
    do {                                                                                  \
        const surrogate_status surrogate_status_ = (__VA_ARGS__);                         \
        if (PetscUnlikely(surrogate_status_ != SURROGATE_SUCCESS))                        \
            SETERRQ(PETSC_COMM_SELF, surrogate_petsc_error_code(surrogate_status_), "%s", \
                    surrogate_error(NULL));                                               \
    } while (0)

/* Creates a context over the ranks of `comm`, with the options found in PETSc's database.
 * Collective.
 *   -surrogate_threads N|auto       -surrogate_vector auto|avx512|avx2|neon|scalar
 *   -surrogate_backend auto|ref|simd|cuda
 *   -surrogate_precision fp32|fp64|tf32|fp16|bf16
 *   -surrogate_device N|auto        -surrogate_timeout_s N
 *   -surrogate_reproducible         -surrogate_check_finite
 *   -surrogate_range count|warn|error  -surrogate_agree
 *   -surrogate_coordinates physical|normalized  -surrogate_allow_code
 *   prefix  put before these names ("flow_": -flow_surrogate_threads), or NULL
 * -help lists them. An option that is not in the database keeps the library's default.
 * Errors: context is NULL (PETSC_ERR_ARG_NULL); as surrogate_options_set and
 * surrogate_context_create_mpi, with the code of surrogate_petsc_error_code. */
SURROGATE_API PetscErrorCode surrogate_context_create_petsc(MPI_Comm comm, const char* prefix,
                                                            surrogate_context** context);

/* Loads a model as surrogate_model_load, within the event SurrPlan. Collective.
 * Errors: as surrogate_model_load, with the code of surrogate_petsc_error_code. */
SURROGATE_API PetscErrorCode surrogate_model_load_petsc(surrogate_context* context,
                                                        const char* path, surrogate_model** model);

/* Creates a plan as surrogate_plan_create, within the event SurrPlan. output may be NULL.
 * Collective.
 * Errors: as surrogate_plan_create, with the code of surrogate_petsc_error_code. */
SURROGATE_API PetscErrorCode surrogate_plan_create_petsc(const surrogate_model* model,
                                                         const surrogate_domain* input,
                                                         const surrogate_domain* output,
                                                         surrogate_plan** plan);

/* Creates a domain of the points of a DM that this rank owns, in the order of the DM's global
 * vectors. Collective.
 *   DMDA  the grid points, at the coordinates of the DM. For cell-centered unknowns set the centers
 *         as coordinates: DMDASetUniformCoordinates(da, h / 2, 1 - h / 2, ..). Global ids are
 *         natural numbers, i + M (j + N k).
 *   DMPlex  the cells at their centroids, or the vertices, whichever of the two has unknowns in
 *           the DM's local section; each has the same number, and the global vectors hold as many
 *           values per point. The chart of the section holds all points of the mesh, or only these.
 *           Points of other ranks (overlap) are left out, and so are points whose values are all
 *           constrained. The domain has no global ids, since the numbers of a DMPlex depend on
 *           the partition: the reproducible mode orders points by their coordinates, which must
 *           then differ.
 * Coordinates are copied: set them before, and create a new domain after they change.
 * Errors: another type of DM, a section with unknowns on edges or faces, on cells and vertices, or
 * in different numbers (PETSC_ERR_SUP), a DMDA without coordinates or a DMPlex without section
 * (PETSC_ERR_ARG_WRONGSTATE), a DM on another communicator (PETSC_ERR_ARG_NOTSAMECOMM). For a
 * DMPlex also no coordinates (PETSC_ERR_ARG_WRONG), a vertex without coordinates
 * (PETSC_ERR_ARG_SIZ), and a global section with offsets outside this rank's range of the global
 * vectors, or with an offset of two points (PETSC_ERR_ARG_OUTOFRANGE); all ranks return the error
 * of the first that fails. */
SURROGATE_API PetscErrorCode surrogate_domain_create_dm(surrogate_context* context, DM dm,
                                                        surrogate_domain** domain);

/* Creates a domain of the block of a spherical grid that this rank owns, in the order of the DM's
 * global vectors. Collective.
 *   dm    a DMDA of 2 dimensions, any number of components: x along longitude, periodic; y along
 *         latitude, in either direction. Ranks may hold rows or blocks.
 *   grid  the latitudes of the rows: a grid name of surrogate_sphere
 *   south_to_north
 *         PETSC_TRUE if row 0 is the southernmost. Used for a DM without coordinates, whose rows
 *         are the nodes of the grid and whose column 0 is at longitude 0
 * Coordinates, if the DM has them, are (longitude, latitude) in degrees and must be nodes of the
 * grid; longitudes start anywhere: DMDASetUniformCoordinates(da, -180, 180, -90, 90, 0, 0) is an
 * equiangular grid from south to north.
 * Errors: another type of DM or number of dimensions (PETSC_ERR_SUP), not periodic in x alone
 * (PETSC_ERR_ARG_INCOMP), a DM on another communicator (PETSC_ERR_ARG_NOTSAMECOMM), and the
 * errors of surrogate_domain_create_sphere. */
SURROGATE_API PetscErrorCode surrogate_domain_create_dm_sphere(surrogate_context* context, DM dm,
                                                               const char* grid,
                                                               PetscBool south_to_north,
                                                               surrogate_domain** domain);

/* Value of surrogate_vec_field.component for all components of a vector or tensor. */
enum {
    SURROGATE_ALL_COMPONENTS = -1 /* components 0, 1, .. in alphabetical order of their names */
};

/* Describes a field of the model's card in a Vec. A Vec that interlaces several fields appears once
 * for each of them. */
typedef struct surrogate_vec_field {
    /* of the field on the card. With SURROGATE_ALL_COMPONENTS the part before the dot: `velocity`
     * for velocity.x, velocity.y */
    const char* name;
    const char* unit;     /* of the Vec's values; NULL: not checked */
    Vec vec;              /* borrowed; local size: n_component times the domain's local points */
    PetscInt component;   /* 0 .. n_component - 1, or SURROGATE_ALL_COMPONENTS */
    PetscInt n_component; /* fields that the Vec interlaces; 0: its block size (1 for one field) */
} surrogate_vec_field;

/* Evaluates the surrogate once, from Vecs to Vecs, without a copy: surrogate_plan_run on the arrays
 * of the Vecs. Collective over the plan; all ranks pass the same lists of names. A Vec may be both
 * input and output; components that are not named keep their values.
 *   in, out  all fields of the card; the arrays are restored on every path, and the plan keeps no
 *            reference to them
 * Vecs on devices:
 *   backend cuda   CUDA Vecs are used in device memory, host Vecs in host memory; a call may mix
 *                  both. The plan must use the device of the Vecs: let PETSc choose its device (the
 *                  first CUDA Vec) before the plan is created. A run follows PETSc's work on the
 *                  Vecs, and PETSc's later work follows the run, without waiting on the host: with
 *                  a CUDA Vec among the fields it is enqueued on the stream of PETSc's current
 *                  PetscDeviceContext (surrogate_plan_set_stream), which must live until another
 *                  one is used or the plan is destroyed. If all fields are CUDA Vecs the call only
 *                  enqueues, and surrogate_plan_wait or a later call returns the errors of the run.
 *                  PETSc before 3.20 does not expose its stream: there the call waits on the host
 *                  before and after.
 *   others         run on the host. PETSc copies Vecs to the host and back as for any host access,
 *                  which -log_view shows.
 * Errors: a Vec on another communicator (PETSC_ERR_ARG_NOTSAMECOMM), a wrong length or component
 * (PETSC_ERR_ARG_SIZ, PETSC_ERR_ARG_OUTOFRANGE), a name given twice among the inputs or among the
 * outputs (PETSC_ERR_ARG_WRONG), backend cuda and a Vec in neither CUDA nor host memory
 * (PETSC_ERR_SUP), and the errors of surrogate_plan_bind_input and surrogate_plan_run. A rank with
 * an error still takes part in the exchange, so that no rank waits for it: it returns its own
 * error, the others PETSC_ERR_FP (with check_finite, the default), or with -surrogate_agree the
 * error and text of the failing rank. The Vecs written are then NaN or unchanged, and the next
 * correct run is exact. */
SURROGATE_API PetscErrorCode surrogate_plan_run_vec(surrogate_plan* plan, PetscInt n_in,
                                                    const surrogate_vec_field in[], PetscInt n_out,
                                                    const surrogate_vec_field out[]);

/* Computes g = J^T w from Vecs to Vecs: surrogate_plan_run_backward on the arrays of the Vecs, once
 * after surrogate_plan_run_vec or surrogate_plan_run. Collective over the plan; all ranks pass the
 * same lists of names.
 *   w  fields of outputs: the gradient of a number with respect to them. Read; an output that is
 *      not named counts as 0
 *   g  fields of inputs, coordinates included. Written; other components of the Vecs are kept
 * Errors: of surrogate_plan_bind_output_gradient, _bind_input_gradient and run_backward, and of a
 * Vec as in surrogate_plan_run_vec: all ranks then return the error of the first failing rank, g is
 * unchanged, and a corrected call may follow. Since 0.2 */
SURROGATE_API PetscErrorCode surrogate_plan_run_backward_vec(surrogate_plan* plan, PetscInt n_w,
                                                             const surrogate_vec_field w[],
                                                             PetscInt n_g,
                                                             const surrogate_vec_field g[]);

/* Creates a shell Mat of the Jacobian of a plan with option gradients=inputs: the columns are the
 * elements of the Vec of in[0], the rows the elements of the Vec of out[0]. MatMult computes J v
 * (surrogate_plan_run_tangent), MatMultTranspose J^T w (surrogate_plan_run and
 * surrogate_plan_run_backward), so that TAO, SNES and KSP can use it (page how-to/derivatives.md).
 * Collective over the plan.
 *   in   all input fields of the card, as for surrogate_plan_run_vec. The Mat differentiates by the
 *        fields in the Vec of in[0]; others are constants. J is taken at the values that the Vecs
 *        have when the Mat is multiplied
 *   out  all output fields of the card. Fields in the Vec of out[0] are differentiated; the Vecs
 *        give the layout, and are neither read nor written
 *   J    destroy it with MatDestroy before the plan. It holds references to the Vecs of `in`
 * Elements of a Vec that are no field of the plan are zero columns and rows of J. A product unbinds
 * the arrays of the plan. MatMult is an error (PETSC_ERR_SUP) where surrogate_plan_run_tangent is.
 * Errors: of surrogate_plan_run_vec; a plan without gradients=inputs (PETSC_ERR_ARG_WRONG), n_in or
 * n_out of 0 (PETSC_ERR_ARG_OUTOFRANGE). Since 0.2 */
SURROGATE_API PetscErrorCode surrogate_plan_create_mat(surrogate_plan* plan, PetscInt n_in,
                                                       const surrogate_vec_field in[],
                                                       PetscInt n_out,
                                                       const surrogate_vec_field out[], Mat* J);

/* Registers the types `surrogate` of KSPGuess and SNES with PETSc, so that options, KSPGuessSetType
 * and SNESSetType find them (page how-to/initial-guess.md). Programs that are started with
 * -dll_append libsurrogate_petsc_plugin.so need no call. Call it after each PetscInitialize;
 * repeated calls have no effect. Local. Errors: a PETSc of another minor version, or with other
 * sizes of PetscScalar, PetscReal or PetscInt, than the library was built with
 * (PETSC_ERR_ARG_INCOMP), a library built without the types (PETSC_ERR_SUP). Since 0.1 */
SURROGATE_API PetscErrorCode surrogate_petsc_register(void);

/* Makes one step of a time loop, from Vecs to Vecs: surrogate_timeloop_step (surrogate_timeloop.h)
 * on the arrays of the Vecs, on the host. Collective over the loop; all ranks pass the same lists
 * of names.
 *   in       fields that are inputs only; read
 *   out      outputs, and fields that are input and output: the state. They keep their values if
 *            the step is rejected or stopped
 *   outcome  SURROGATE_STEP_ACCEPTED .., or NULL
 * The loop keeps no reference to the arrays: do not bind these names on it, and store Vecs with
 * PETSc (VecCopy, VecView) instead of snapshot and save.
 * Errors: as surrogate_plan_run_vec, with all Vecs unchanged, and the errors of
 * surrogate_timeloop_step. A rank with a wrong Vec returns its own error, the others its text.
 * Since 0.1 */
SURROGATE_API PetscErrorCode surrogate_timeloop_step_vec(
    surrogate_timeloop* loop, PetscReal dt_s, PetscInt n_in, const surrogate_vec_field in[],
    PetscInt n_out, const surrogate_vec_field out[], int32_t* outcome);

#ifdef __cplusplus
}
#endif

#endif
