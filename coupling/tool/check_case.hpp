// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <surrogate/surrogate.hpp>
#include <vector>

#include "coupling/tool/job.hpp"

namespace surrogate::tool {

/// How a check case is run. Empty texts leave the choice to the plan; values are those of
/// surrogate_options_set.
struct CheckSettings {
    std::string partition = "contiguous";  ///< of surrogate_partition
    bool is_reproducible = false;
    std::string backend, precision, threads, vector;
};

/// A model and the tensors of its check case. Every rank holds them whole; pointers belong to
/// `tensors`.
struct LoadedCase {
    Model model;
    CheckCase tensors;
    int64_t n_sample = 0, n_point = 0, n_in = 0, n_out = 0;
    std::vector<int64_t> y_shape = {};  ///< of check/output/y
    const float* x = nullptr;           ///< (n_sample, n_point, n_in)
    const float* y = nullptr;     ///< (n_sample, n_point, n_out), the official single precision run
    const double* y64 = nullptr;  ///< (n_sample, n_point, n_out), the same in double: the truth
};

/// Reads model and check case. Collective.
/// Errors: Failure no_case (no check case, family not built), bad_usage (file).
LoadedCase load_case(const Job& job, const Context& context, const std::string& file);

/// What one run of a check case gave. Texts are the choices in force on rank 0, numbers are over
/// all ranks.
struct CheckResult {
    std::string family, backend, precision, vector;
    int threads = 0;
    double relative_l2 = 0;           ///< |y - y64| / |y64|
    double official_relative_l2 = 0;  ///< the same of check/output/y
    double bound = 0;                 ///< passed: relative_l2 <= bound
    double max_abs = 0;               ///< max |y - y64|
    std::string hash;                 ///< rank 0: XXH3-64 of y as little-endian float, 16 digits
    bool is_passed = false;
    int64_t bytes_sent_per_rank = 0, collectives = 0;  ///< of one sample, the largest over ranks
    double seconds_plan = 0, seconds_run = 0;          ///< largest over ranks; second of two runs
    std::vector<double> y;  ///< rank 0: (n_sample, n_point, n_out) in global order
};

/// Spreads the rows of the case over the ranks, runs sample after sample on one plan, and compares.
/// Collective. Points are known by their row number and have no coordinates; ranks may own no
/// point. Errors: Failure (a run that failed, on any rank), surrogate::Error (options, partition,
/// plan).
CheckResult run_check(const Job& job, const Context& context, const LoadedCase& loaded,
                      const CheckSettings& settings);

}  // namespace surrogate::tool
