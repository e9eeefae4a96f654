/* SPDX-License-Identifier: Apache-2.0 */
/* A LAMMPS whose tags have 64 bits, for LD_PRELOAD. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>

int lammps_extract_setting(void* lammps, const char* name) {
    int (*own)(void*, const char*) = NULL;
    void* const symbol = dlsym(RTLD_NEXT, "lammps_extract_setting");
    memcpy(&own, &symbol, sizeof own);
    return strcmp(name, "tagint") == 0 ? 8 : own(lammps, name);
}
