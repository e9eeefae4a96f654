// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "coupling/job/job.hpp"

namespace surrogate::tool {

/// Arguments of `surrogate bench MODEL`.
struct BenchArguments {
    std::string model;
    int64_t n_point = 20000;  ///< --points, of all ranks; a model on the sphere uses its grid
    int64_t n_run = 5;        ///< --runs, timed, after one run that is not timed
    std::string json;         ///< --json: file of a report; "": none
    bool overwrite = false;   ///< --overwrite: the report may exist
    std::vector<std::pair<std::string, std::string>> options;  ///< for surrogate_options_set
};

/// Times runs of a model on generated points and inputs, counts its operations, and compares with
/// the throughput of simple loops on the same threads (machine_limits.hpp). Prints lines on rank
/// 0's stdout, by layer and in total. It does not assess the results. Collective; errors are
/// Failure or Error, on all ranks.
void bench(const Job& job, const BenchArguments& arguments);

}  // namespace surrogate::tool
