/* SPDX-License-Identifier: Apache-2.0
 * The calls of fortran_calls_bench.F90, in C. */
#include <surrogate/surrogate.h>

int64_t c_binds(surrogate_plan* plan, const double* mobility, int64_t n, int64_t n_call);
int64_t c_binds(surrogate_plan* plan, const double* mobility, int64_t n, int64_t n_call) {
    int64_t n_failed = 0;
    const surrogate_array array = surrogate_column_f64(mobility, n, 1);
    for (int64_t i = 0; i < n_call; ++i)
        n_failed += surrogate_plan_bind_input(plan, "mobility", "m^2/(Pa s)", &array) != 0;
    return n_failed;
}

int64_t c_questions(surrogate_plan* plan, int64_t n_call);
int64_t c_questions(surrogate_plan* plan, int64_t n_call) {
    int64_t n_failed = 0, value = 0;
    for (int64_t i = 0; i < n_call; ++i)
        n_failed += surrogate_plan_counter(plan, "runs", &value) != 0 || value != 0;
    return n_failed;
}
