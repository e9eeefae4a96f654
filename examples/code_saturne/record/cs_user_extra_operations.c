/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a data set for `surrogate train`: velocity and pressure of every fifth step, in the file
 * CAVITY_DATA. */
#include <cavity.h>
#include <surrogate/surrogate_dataset.h>
#include <surrogate/surrogate_mpi.h>

static const int steps_a_sample = 5;
static surrogate_context* context;
static surrogate_dataset* set;
static double*
    pressure; /* less its mean, which is arbitrary for an incompressible fluid in a closed box */

static void check(surrogate_status status) {
    if (surrogate_context_agree(context, status, NULL) != SURROGATE_SUCCESS)
        bft_error(__FILE__, __LINE__, 0, "%s", surrogate_error(context));
}

static void write(const char* name, int64_t first, const double* data, int64_t stride) {
    const surrogate_array column = surrogate_column_f64(data, cs_glob_mesh->n_cells, stride);
    check(surrogate_dataset_write(set, name, first, &column));
}

void cs_user_extra_operations_initialize(cs_domain_t* domain) {
    const int64_t n = domain->mesh->n_cells;
    const double* centre = domain->mesh_quantities->cell_cen;
    const surrogate_points points = {surrogate_matrix_f64(centre, n, 3),
                                     (const int64_t*)domain->mesh->global_cell_num, NULL, NULL};
    const char* path = getenv("CAVITY_DATA");
    const surrogate_status made =
        cs_glob_n_ranks > 1 ? surrogate_context_create_mpi(cs_glob_mpi_comm, NULL, &context)
                            : surrogate_context_create(NULL, &context);
    if (made != SURROGATE_SUCCESS || path == NULL)
        bft_error(__FILE__, __LINE__, 0, "%s",
                  path == NULL ? "CAVITY_DATA: the data set's path" : surrogate_error(NULL));

    const char *at_cells[] = {"point"}, *at_samples[] = {"sample", "point"};
    const surrogate_variable variables[] = {
        {"x", "m", "centers of the cells", "X", at_cells, 1, SURROGATE_FLOAT64},
        {"y", "m", "centers of the cells", "Y", at_cells, 1, SURROGATE_FLOAT64},
        {"velocity.x", "m/s", NULL, NULL, at_samples, 2, SURROGATE_FLOAT32},
        {"velocity.y", "m/s", NULL, NULL, at_samples, 2, SURROGATE_FLOAT32},
        {"pressure", "Pa", "pressure less its mean", NULL, at_samples, 2, SURROGATE_FLOAT32}};
    check(surrogate_dataset_create(context, path, &set));
    check(surrogate_dataset_set(set, "title", "Lid-driven cavity of code_saturne"));
    check(surrogate_dataset_add_axis(set, "sample", domain->time_step->nt_max / steps_a_sample));
    check(surrogate_dataset_add_axis(set, "point", (int64_t)domain->mesh->n_g_cells));
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        check(surrogate_dataset_add(set, &variables[i]));
    check(surrogate_dataset_begin(set));

    surrogate_domain* cells = NULL;
    check(surrogate_domain_create_points(context, &points, &cells));
    check(surrogate_dataset_set_points(set, cells));
    surrogate_domain_destroy(&cells);
    write("x", 0, centre, 3);
    write("y", 0, centre + 1, 3);
    BFT_MALLOC(pressure, domain->mesh->n_cells_with_ghosts, double);
}

void cs_user_extra_operations(cs_domain_t* domain) {
    const int step = domain->time_step->nt_cur;
    if (step < 1 || step % steps_a_sample != 0) return;
    const double mean = cavity_mean(domain, CS_F_(p)->val);
    for (cs_lnum_t i = 0; i < domain->mesh->n_cells; i++) pressure[i] = CS_F_(p)->val[i] - mean;

    const int64_t first = (step / steps_a_sample - 1) * (int64_t)domain->mesh->n_g_cells;
    write("velocity.x", first, CS_F_(vel)->val, 3);
    write("velocity.y", first, CS_F_(vel)->val + 1, 3);
    write("pressure", first, pressure, 1);
}

void cs_user_extra_operations_finalize(cs_domain_t* domain) {
    (void)domain;
    check(surrogate_dataset_finish(set));
    surrogate_dataset_destroy(&set);
    surrogate_context_destroy(&context);
    BFT_FREE(pressure);
}
