/* SPDX-License-Identifier: Apache-2.0
 * C99 against the installed library: versions agree, a model loads, a wrong file says why; what the
 * context says of itself is printed, with the backends that were found. */
#include <stdio.h>
#include <string.h>
#include <surrogate/surrogate.h>

static int fail(const char* what) {
    fprintf(stderr, "%s: %s\n", what, surrogate_error(NULL));
    return 1;
}

int main(void) {
    surrogate_context* context = NULL;
    surrogate_model* model = NULL;
    char version[32], text[4096], family[16];
    int64_t n_text = sizeof text, n_family = sizeof family;

    sprintf(version, "%d.%d.%d", SURROGATE_VERSION_MAJOR, SURROGATE_VERSION_MINOR,
            SURROGATE_VERSION_PATCH);
    if (strcmp(version, surrogate_version()) != 0) return fail("version");
    if (surrogate_context_create(NULL, &context) != SURROGATE_SUCCESS) return fail("context");
    if (surrogate_context_describe(context, text, &n_text) != SURROGATE_SUCCESS)
        return fail("description");
    printf("%s", text);
    if (surrogate_model_load(context, "no such file", &model) != SURROGATE_IO)
        return fail("missing file");
    if (strstr(surrogate_error(context), "no such file") == NULL) return fail("text");
    if (surrogate_model_load(context, MODEL, &model) != SURROGATE_SUCCESS) return fail("model");
    if (surrogate_model_family(model, family, &n_family) != SURROGATE_SUCCESS)
        return fail("family");
    if (strcmp(family, "flare") != 0) return fail(family);
    surrogate_context_destroy(&context);
    surrogate_model_destroy(&model);
    printf("all as expected\n");
    return 0;
}
