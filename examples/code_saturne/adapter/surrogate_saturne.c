/* SPDX-License-Identifier: Apache-2.0 */
#include <cs_headers.h>
#include <cs_prototypes.h>
#include <ple_coupling.h>
#include <stdio.h>
#include <string.h>
#include <surrogate_saturne.h>

static void check(surrogate_status status) {
    if (status != SURROGATE_SUCCESS) bft_error(__FILE__, __LINE__, 0, "%s", surrogate_error(NULL));
}

/* Ends the calculation because the card names a field that the solver does not have. */
static void refuse(const char* name, const char* wanted) {
    char found[2000] = "";
    size_t used = 0;
    for (int i = 0; i < cs_field_n_fields(); i++) {
        const cs_field_t* field = cs_field_by_id(i);
        if (field->location_id != CS_MESH_LOCATION_CELLS) continue;
        const int n = snprintf(found + used, sizeof found - used, "%s%s%s", used > 0 ? ", " : "",
                               field->name, field->dim == 3 ? " (.x, .y, .z)" : "");
        if (n > 0) used = CS_MIN(used + (size_t)n, sizeof found - 1);
    }
    bft_error(__FILE__, __LINE__, 0,
              "the model's card has %s, and the solver has no field '%s' of one number a cell; it "
              "has: %s",
              name, wanted, found);
}

/* Returns the host's values for a name of the card: "pressure", or a component, "velocity.x". */
static surrogate_array column_of(const char* name, int is_output) {
    char host[256];
    snprintf(host, sizeof host, "%s%s", is_output ? "predicted_" : "", name);
    const int64_t n = cs_glob_mesh->n_cells; /* ghost cells follow them */
    const cs_field_t* field = cs_field_by_name_try(host);
    if (field != NULL && field->dim == 1 && field->location_id == CS_MESH_LOCATION_CELLS)
        return surrogate_column_f64(field->val, n, 1);

    const char* dot = strrchr(name, '.');
    const char* axes = "xyz";
    const char* axis =
        dot != NULL && dot[1] != '\0' && dot[2] == '\0' ? strchr(axes, dot[1]) : NULL;
    if (axis != NULL && !is_output) {
        host[dot - name] = '\0';
        field = cs_field_by_name_try(host);
        if (field != NULL && field->dim == 3 && field->location_id == CS_MESH_LOCATION_CELLS)
            return surrogate_column_f64(field->val + (axis - axes), n, 3);
        host[dot - name] = '.';
    }
    refuse(name, host);
    return surrogate_column_f64(NULL, 0, 1);
}

static void bind(surrogate_plan* plan, int is_output) {
    surrogate_model* model = NULL;
    surrogate_field_info field;
    int32_t n = 0;
    check(surrogate_plan_model(plan, &model));
    check(is_output ? surrogate_model_n_outputs(model, &n) : surrogate_model_n_inputs(model, &n));
    for (int32_t i = 0; i < n; i++) {
        check(is_output ? surrogate_model_output(model, i, &field)
                        : surrogate_model_input(model, i, &field));
        if (field.role == SURROGATE_COORDINATE) continue;
        const surrogate_array column = column_of(field.name, is_output);
        check(is_output ? surrogate_plan_bind_output(plan, field.name, NULL, &column)
                        : surrogate_plan_bind_input(plan, field.name, NULL, &column));
    }
    surrogate_model_destroy(&model);
}

surrogate_plan* surrogate_saturne_open(const cs_domain_t* domain, const char* path) {
    const int64_t n = domain->mesh->n_cells;
    const surrogate_points cells = {surrogate_matrix_f64(domain->mesh_quantities->cell_cen, n, 3),
                                    (const int64_t*)domain->mesh->global_cell_num, NULL, NULL};
    const MPI_Comm comm = cs_glob_n_ranks > 1 ? cs_glob_mpi_comm : MPI_COMM_NULL;
    surrogate_options* options = NULL;
    surrogate_plan* plan = NULL;
    check(surrogate_options_create(&options));
    check(surrogate_options_set(
        options, "agree", "true")); /* bft_error may end the job before another rank has reported */
    check(surrogate_plan_open_mpi(comm, path, &cells, options, &plan));
    surrogate_options_destroy(&options);
    bind(plan, 0);
    bind(plan, 1);
    return plan;
}

void surrogate_saturne_run(surrogate_plan* plan) {
    bind(plan, 0); /* again: the solver may have reallocated a field */
    bind(plan, 1);
    check(surrogate_plan_run(plan));
}
