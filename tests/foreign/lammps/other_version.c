/* SPDX-License-Identifier: Apache-2.0 */
/* A LAMMPS of another version, for LD_PRELOAD. */
int lammps_version(void* lammps) {
    (void)lammps;
    return 20991231;
}
