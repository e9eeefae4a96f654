/* SPDX-License-Identifier: Apache-2.0
 * Stands before the library's own surrogate_model_destroy and counts the models that it
 * destroys. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <surrogate/surrogate.h>

static int n_destroyed = 0;

int count_destroyed(void);
int count_destroyed(void) {
    return n_destroyed;
}

void surrogate_model_destroy(surrogate_model** model) {
    void (*next)(surrogate_model**) = NULL;
    *(void**)&next = dlsym(RTLD_NEXT, "surrogate_model_destroy");
    n_destroyed += model && *model;
    next(model);
}
