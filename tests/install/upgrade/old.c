/* SPDX-License-Identifier: Apache-2.0 */
/* A program of version 0.1: it is compiled with the header of old names, and as
 * share/upgrade-0.2.sed rewrites it. Exit status 0: all calls return what they should. */
#include <stdio.h>
#include <surrogate/surrogate.h>
#include <surrogate/surrogate_train.h>

static int require(surrogate_status found, surrogate_status expected, const char* call) {
    if (found == expected) return 0;
    fprintf(stderr, "%s: %s\n", call, surrogate_status_name(found));
    return 1;
}

int main(void) {
    const double x[3] = {3, 1, 2};
    const surrogate_points points = {surrogate_matrix_f64(x, 3, 1), NULL, NULL, NULL};
    double ordered[3] = {0, 0, 0}, back[3] = {0, 0, 0};
    surrogate_context* context = NULL;
    surrogate_domain* domain = NULL;
    surrogate_order* order = NULL;
    surrogate_training* training = NULL;
    surrogate_model* model = NULL;
    int n_wrong = 0;
    n_wrong += require(surrogate_context_create(NULL, &context), SURROGATE_SUCCESS, "context");
    n_wrong += require(surrogate_domain_create_points(context, &points, &domain), SURROGATE_SUCCESS,
                       "domain");
    n_wrong += require(surrogate_order_create(domain, sizeof(double), &order), SURROGATE_SUCCESS,
                       "order");
    n_wrong += require(surrogate_order_forward(order, sizeof(double), x, ordered),
                       SURROGATE_SUCCESS, "forward");
    n_wrong += require(surrogate_order_backward(order, sizeof(double), ordered, back),
                       SURROGATE_SUCCESS, "backward");
    n_wrong += ordered[0] != 1 || ordered[1] != 2 || ordered[2] != 3 || back[0] != 3;
    n_wrong += require(surrogate_training_create(&training), SURROGATE_SUCCESS, "training");
    n_wrong += require(surrogate_training_set(training, "loss", "mean_square"), SURROGATE_SUCCESS,
                       "loss");
    n_wrong += require(surrogate_training_set(training, "max_bad_steps", "3"), SURROGATE_SUCCESS,
                       "max_bad_steps");
    n_wrong += require(surrogate_training_set(training, "clip", "1"), SURROGATE_SUCCESS, "clip");
    n_wrong += require(surrogate_model_initialise(context, "{}", 1, &model), SURROGATE_BAD_FILE,
                       "initialise");
    surrogate_training_destroy(&training);
    surrogate_order_destroy(&order);
    surrogate_domain_destroy(&domain);
    surrogate_context_destroy(&context);
    return n_wrong;
}
