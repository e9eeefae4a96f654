/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SURROGATE_SATURNE_H
#define SURROGATE_SATURNE_H

/* A plan of libsurrogate on the cells of code_saturne. Copy this header and its .c file to your
 * user routines.
 *
 *     plan = surrogate_saturne_open(domain, "cavity.safetensors");   once, in
 *                                                       cs_user_extra_operations_initialize
 *     surrogate_saturne_run(plan);                      every step, in cs_user_extra_operations
 *     surrogate_plan_destroy(&plan);                    at the end, in
 *                                                       cs_user_extra_operations_finalize
 *
 * Fields are found by name. An input of the card is the host's field of that name; `velocity.x`,
 * `velocity.y`, `velocity.z` are its components. An output `pressure` is the property
 * `predicted_pressure`, which the user adds in cs_user_model:
 * cs_parameters_add_property("predicted_pressure", 1, CS_MESH_LOCATION_CELLS). Units are the SI
 * units of code_saturne; they are not compared with the card's. The arrays are read and written in
 * place.
 *
 * All calls are collective over the solver's ranks. An error ends the calculation by bft_error, on
 * all ranks, with the text of the first failed rank. */

#include <cs_defs.h>
#include <cs_domain.h>
#include <surrogate/surrogate_mpi.h>

/* Creates context, model, domain of the cells, and plan. Any partition of the cells is allowed.
 *   path   of the model file, read by rank 0 */
surrogate_plan* surrogate_saturne_open(const cs_domain_t* domain, const char* path);

/* Evaluates the model on the current fields. The predictions are properties of the user, so the
 * solver includes them in its own output. */
void surrogate_saturne_run(surrogate_plan* plan);

#endif
