/* SPDX-License-Identifier: Apache-2.0 */
#include <cavity.h>

double cavity_mean(const cs_domain_t* domain, const double* field) {
    const double* volume = domain->mesh_quantities->cell_vol;
    double sums[2] = {0, 0};
    for (cs_lnum_t i = 0; i < domain->mesh->n_cells; i++) {
        sums[0] += volume[i] * field[i];
        sums[1] += volume[i];
    }
    cs_parall_sum(2, CS_DOUBLE, sums);
    return sums[0] / sums[1];
}

void cavity_compare(const cs_domain_t* domain, const double* predicted) {
    const int step = domain->time_step->nt_cur;
    if (step < 1 || step % 20 != 0) return;
    const double *pressure = CS_F_(p)->val, *volume = domain->mesh_quantities->cell_vol;
    const double mean = cavity_mean(domain, pressure),
                 mean_predicted = cavity_mean(domain, predicted);
    double sums[4] = {0, 0, 0, 0};
    for (cs_lnum_t i = 0; i < domain->mesh->n_cells; i++) {
        const double p = pressure[i] - mean, q = predicted[i] - mean_predicted;
        sums[0] += volume[i] * (q - p) * (q - p);
        sums[1] += volume[i] * p * p;
        sums[2] += volume[i] * q * q;
        sums[3] += volume[i];
    }
    cs_parall_sum(4, CS_DOUBLE, sums);
    if (cs_glob_rank_id < 1) {
        printf("step %3d  pressure %.6f Pa, predicted %.6f Pa, error %.2f %%\n", step,
               sqrt(sums[1] / sums[3]), sqrt(sums[2] / sums[3]), 100 * sqrt(sums[0] / sums[1]));
        fflush(stdout);
    }
}
