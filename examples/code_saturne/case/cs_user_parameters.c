/* SPDX-License-Identifier: Apache-2.0 */
/* The case: a laminar lid-driven cavity of 1 m that starts from rest, for 2 s. The surrogate needs
 * one line. */
#include <cavity.h>

void cs_user_model(void) {
    cs_get_glob_turb_model()->iturb = CS_TURB_NONE;
    cs_parameters_add_property("predicted_pressure", 1,
                               CS_MESH_LOCATION_CELLS); /* + for the prediction */
}

void cs_user_parameters(cs_domain_t* domain) {
    domain->time_step->dt_ref = 0.02;
    domain->time_step->nt_max = (int)cavity_setting("CAVITY_STEPS", 100);
    cs_get_glob_time_step_options()->idtvar = 0;
    cs_fluid_properties_t* fluid = cs_get_glob_fluid_properties();
    fluid->ro0 = 1.0;     /* kg/m^3 */
    fluid->viscl0 = 0.01; /* Pa s */
}
