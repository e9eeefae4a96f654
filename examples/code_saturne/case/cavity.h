/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CAVITY_H
#define CAVITY_H

/* Included by every file of user routines of code_saturne 6.0. */
#include <cs_defs.h>
#include <cs_headers.h>
#include <cs_prototypes.h>
#include <math.h>
#include <mpi.h>
#include <ple_coupling.h>
#include <stdio.h>
#include <stdlib.h>

/* Returns a number from the environment, such as CAVITY_LID=1.2 (m/s); `otherwise` if it is not
 * set. */
static inline double cavity_setting(const char* name, double otherwise) {
    const char* text = getenv(name);
    return text != NULL ? atof(text) : otherwise;
}

/* Returns the mean of a field over all cells by volume. Collective. */
double cavity_mean(const cs_domain_t* domain, const double* field);

/* In every twentieth step, prints on rank 0 the relative L2 norm of `predicted` less the solver's
 * pressure, and the root mean square of both. The mean is subtracted from each, because it is
 * arbitrary in a closed box. Collective. */
void cavity_compare(const cs_domain_t* domain, const double* predicted);

#endif
