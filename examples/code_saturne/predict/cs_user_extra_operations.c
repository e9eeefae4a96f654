/* SPDX-License-Identifier: Apache-2.0 */
/* The model CAVITY_MODEL predicts the pressure of every step from its velocity. The result is
 * compared with the solver's pressure. */
#include <cavity.h>
#include <surrogate_saturne.h> /* + */

static surrogate_plan* plan;

void cs_user_extra_operations_initialize(cs_domain_t* domain) {
    plan = surrogate_saturne_open(domain, getenv("CAVITY_MODEL")); /* + */
}

void cs_user_extra_operations(cs_domain_t* domain) {
    surrogate_saturne_run(plan); /* + */
    cavity_compare(domain, cs_field_by_name("predicted_pressure")->val);
}

void cs_user_extra_operations_finalize(cs_domain_t* domain) {
    (void)domain;
    surrogate_plan_destroy(&plan); /* + */
}
