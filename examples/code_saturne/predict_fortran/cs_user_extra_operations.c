/* SPDX-License-Identifier: Apache-2.0 */
/* Runs after the Fortran routine: compares the predicted pressure with the solver's. */
#include <cavity.h>

void cs_user_extra_operations(cs_domain_t* domain) {
    cavity_compare(domain, cs_field_by_name("predicted_pressure")->val);
}
