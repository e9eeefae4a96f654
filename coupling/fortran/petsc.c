/* SPDX-License-Identifier: Apache-2.0
 * surrogate_petsc.h for module surrogate_petsc: PETSc's objects are passed by the addresses that
 * their Fortran types contain (%v), communicators by their Fortran handles, counts as int64_t
 * independent of PetscInt. */
#include <stdlib.h>
#include <surrogate/surrogate_petsc.h>

#define PETSC_FORTRAN_API __attribute__((visibility("default")))

/* A field in a Vec, filled by the module. name and unit end with a zero; no unit: "". */
typedef struct vec_field {
    char name[128], unit[128];
    int64_t vec, component, n_component;
} vec_field;

/* The lists of a call, inputs first. */
typedef struct vec_lists {
    surrogate_vec_field* fields;
    PetscInt n_in, n_out;
} vec_lists;

static PetscErrorCode take_lists(int64_t n_in, const vec_field* in, int64_t n_out,
                                 const vec_field* out, vec_lists* lists) {
    lists->n_in = (PetscInt)n_in;
    lists->n_out = (PetscInt)n_out;
    lists->fields = calloc((size_t)(n_in + n_out) + 1, sizeof(surrogate_vec_field));
    if (!lists->fields) return PETSC_ERR_MEM;
    for (int64_t i = 0; i < n_in + n_out; ++i) {
        const vec_field* const from = i < n_in ? in + i : out + (i - n_in);
        surrogate_vec_field* const to = lists->fields + i;
        to->name = from->name;
        to->unit = from->unit[0] ? from->unit : NULL;
        to->vec = (Vec)(intptr_t)from->vec;
        to->component = (PetscInt)from->component;
        to->n_component = (PetscInt)from->n_component;
    }
    return 0;
}

PETSC_FORTRAN_API int32_t surrogate_fortran_context_create_petsc(int32_t comm, const char* prefix,
                                                                 surrogate_context** context) {
    return surrogate_context_create_petsc(MPI_Comm_f2c(comm), prefix, context);
}

PETSC_FORTRAN_API int32_t surrogate_fortran_domain_create_dm(surrogate_context* context, int64_t dm,
                                                             surrogate_domain** domain) {
    return surrogate_domain_create_dm(context, (DM)(intptr_t)dm, domain);
}

PETSC_FORTRAN_API int32_t surrogate_fortran_domain_create_dm_sphere(surrogate_context* context,
                                                                    int64_t dm, const char* grid,
                                                                    int32_t south_to_north,
                                                                    surrogate_domain** domain) {
    return surrogate_domain_create_dm_sphere(context, (DM)(intptr_t)dm, grid,
                                             south_to_north ? PETSC_TRUE : PETSC_FALSE, domain);
}

/* Runs the plan. A rank without memory for the lists takes part without fields and returns an
 * error. */
PETSC_FORTRAN_API int32_t surrogate_fortran_plan_run_vec(surrogate_plan* plan, int64_t n_in,
                                                         const vec_field* in, int64_t n_out,
                                                         const vec_field* out) {
    vec_lists lists;
    const PetscErrorCode taken = take_lists(n_in, in, n_out, out, &lists);
    if (taken) {
        surrogate_plan_run_with_error(plan, SURROGATE_NO_MEMORY, "no memory for a list of Vecs");
        return taken;
    }
    const PetscErrorCode error = surrogate_plan_run_vec(plan, lists.n_in, lists.fields, lists.n_out,
                                                        lists.fields + lists.n_in);
    free(lists.fields);
    return error;
}

PETSC_FORTRAN_API int32_t surrogate_fortran_plan_run_backward_vec(surrogate_plan* plan, int64_t n_w,
                                                                  const vec_field* w, int64_t n_g,
                                                                  const vec_field* g) {
    vec_lists lists;
    const PetscErrorCode taken = take_lists(n_w, w, n_g, g, &lists);
    if (taken) {
        surrogate_plan_agree(plan, SURROGATE_NO_MEMORY, "no memory for a list of Vecs");
        return taken;
    }
    const PetscErrorCode error = surrogate_plan_run_backward_vec(
        plan, lists.n_in, lists.fields, lists.n_out, lists.fields + lists.n_in);
    free(lists.fields);
    return error;
}

PETSC_FORTRAN_API int32_t surrogate_fortran_plan_create_mat(surrogate_plan* plan, int64_t n_in,
                                                            const vec_field* in, int64_t n_out,
                                                            const vec_field* out, int64_t* mat) {
    vec_lists lists;
    Mat made = NULL;
    PetscErrorCode error = take_lists(n_in, in, n_out, out, &lists);
    if (error) return error;
    error = surrogate_plan_create_mat(plan, lists.n_in, lists.fields, lists.n_out,
                                      lists.fields + lists.n_in, &made);
    free(lists.fields);
    if (!error) *mat = (int64_t)(intptr_t)made;
    return error;
}

PETSC_FORTRAN_API int32_t surrogate_fortran_timeloop_step_vec(surrogate_timeloop* loop, double dt_s,
                                                              int64_t n_in, const vec_field* in,
                                                              int64_t n_out, const vec_field* out,
                                                              int32_t* outcome) {
    vec_lists lists;
    const PetscErrorCode taken = take_lists(n_in, in, n_out, out, &lists);
    if (taken) {
        surrogate_timeloop_step_with_error(loop, SURROGATE_NO_MEMORY,
                                           "no memory for a list of Vecs");
        return taken;
    }
    const PetscErrorCode error =
        surrogate_timeloop_step_vec(loop, (PetscReal)dt_s, lists.n_in, lists.fields, lists.n_out,
                                    lists.fields + lists.n_in, outcome);
    free(lists.fields);
    return error;
}
