/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SURROGATE_LAMMPS_H
#define SURROGATE_LAMMPS_H

/* A surrogate on the atoms of LAMMPS, called by a `fix external .. pf/callback` of an unmodified
 * lmp. surrogate_lammps.py has the functions that an input script calls.
 *
 * Atoms are the points of the domain, their tags the ids. They move, and change their rank: before
 * every run the domain gets the new positions (surrogate_domain_update_points), and the plan is
 * updated. Per-atom fields are found by name: `q`, `rmass`, `radius`, `d_name` of a fix
 * property/atom; `v.x`, `f.y`, `mu.z` are components. An output `name` of the model is written to
 * the `d_predicted_name` of a fix property/atom. The forces of the fix are zero, so the dynamics do
 * not change.
 *
 * Collective over LAMMPS' ranks. An error ends LAMMPS by its own error->all, with the text of the
 * first failed rank. */

#ifdef __cplusplus
extern "C" {
#endif

/* Runs the model in every call of a fix external.
 *   lammps  handle of LAMMPS' C library
 *   fix     id of the fix external
 *   path    model file, read by rank 0 */
__attribute__((visibility("default"))) void surrogate_lammps_predict(void* lammps, const char* fix,
                                                                     const char* path);

/* Writes a data set for `surrogate train`: positions x, y, z and the numbers of a per-atom compute,
 * which become the variable `compute`, in each of the first n_sample calls of the fix; the number
 * of atoms must not change. */
__attribute__((visibility("default"))) void surrogate_lammps_record(void* lammps, const char* fix,
                                                                    const char* path,
                                                                    const char* compute,
                                                                    int n_sample);

#ifdef __cplusplus
}
#endif

#endif
