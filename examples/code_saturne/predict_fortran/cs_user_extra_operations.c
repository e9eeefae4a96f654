/* SPDX-License-Identifier: Apache-2.0 */
/* After the routine of Fortran: the solver's pressure judges the predicted one. */
#include <cavity.h>

void cs_user_extra_operations(cs_domain_t* domain) {
    cavity_compare(domain, cs_field_by_name("predicted_pressure")->val);
}
