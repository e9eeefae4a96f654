// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "coupling/timeloop/rails.hpp"

namespace surrogate::timeloop {

/// Options of a loop, except the options that its guards hold.
struct Settings {
    int64_t retry_after = 0;
    double step_s = 0;
};

/// Sets an option; see surrogate_timeloop_set.
void set_option(Rails* rails, Settings* settings, const char* key, const char* value);

/// Returns the number of evaluations per step. Throws INVALID_ARGUMENT if dt_s is not > 0 or not a
/// multiple of step_s.
int64_t n_evaluation_of(const Settings& settings, double dt_s);

/// Number of slots that compare settings and numbers per cloud between ranks. They must be equal
/// on all ranks before a step. Each slot is a 16-bit part of their hash or its square, so that sums
/// over up to 2^20 ranks are exact. The squares show whether the numbers are equal.
constexpr int64_t n_fingerprint = 8;
void write_fingerprint(const Rails& rails, const Fields& fields, const Settings& settings,
                       double dt_s, int64_t n_skip, double* slots);
bool is_same_on_all(const double* sums, int32_t n_rank);

}  // namespace surrogate::timeloop
