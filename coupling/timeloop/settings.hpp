// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "coupling/timeloop/rails.hpp"

namespace surrogate::timeloop {

/// Options of a loop, but for those that its guards hold.
struct Settings {
    int64_t retry_after = 0;
    double step_s = 0;
};

/// See surrogate_timeloop_set.
void set_option(Rails* rails, Settings* settings, const char* key, const char* value);

/// Evaluations that make up a step. Errors: INVALID_ARGUMENT (no multiple of step_s; dt_s not > 0).
int64_t n_evaluation_of(const Settings& settings, double dt_s);

/// Settings that must be the same on all ranks before they step together, as numbers whose sums
/// over 2^20 ranks are exact: 16 bits at a time, and their squares, which tell equal numbers from
/// others.
constexpr int64_t n_fingerprint = 8;
void write_fingerprint(const Rails& rails, const Settings& settings, double dt_s, int64_t n_skip,
                       double* slots);
bool is_same_on_all(const double* sums, int32_t n_rank);

}  // namespace surrogate::timeloop
