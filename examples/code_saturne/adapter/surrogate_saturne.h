/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SURROGATE_SATURNE_H
#define SURROGATE_SATURNE_H

/* A plan of libsurrogate on the cells of code_saturne. Copy this header and its .c file beside your
 * user routines.
 *
 *     plan = surrogate_saturne_open(domain, "cavity.safetensors");      once:
 *                                                                       cs_user_extra_operations_initialize
 *     surrogate_saturne_run(plan);                                      every step:
 *                                                                       cs_user_extra_operations
 *     surrogate_plan_destroy(&plan);                                    at the end:
 *                                                                       cs_user_extra_operations_finalize
 *
 * Fields are found by name. An input of the card is the host's field of that name; `velocity.x`,
 * `velocity.y`, `velocity.z` are its components. An output `pressure` is the property
 * `predicted_pressure`, which the user adds in cs_user_model:
 * cs_parameters_add_property("predicted_pressure", 1, CS_MESH_LOCATION_CELLS). Units are those of
 * code_saturne, the SI; they are not compared with the card's. The arrays are read and written
 * where they lie.
 *
 * All calls are collective over the solver's ranks. An error ends the calculation by bft_error, on
 * all ranks, with the text of the first rank at fault. */

#include <cs_defs.h>
#include <cs_domain.h>
#include <surrogate/surrogate_mpi.h>

/* Context, model, domain of the cells, and plan; the cells may lie on the ranks in any way.
 *   path   of the model file, read by rank 0 */
surrogate_plan* surrogate_saturne_open(const cs_domain_t* domain, const char* path);

/* Evaluates the model on the fields as they are now. The predictions are the user's properties, so
 * the solver writes them with its own output. */
void surrogate_saturne_run(surrogate_plan* plan);

#endif
