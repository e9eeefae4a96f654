// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "coupling/job/job.hpp"

namespace surrogate::tool {

/// The command line of `surrogate bench MODEL`.
struct BenchArguments {
    std::string model;
    int64_t n_point = 20000;  ///< --points, of all ranks; a model on the sphere has its grid
    int64_t n_run = 5;        ///< --runs, timed; one before them is not
    std::string json;         ///< --json: a report in this file; "": none
    bool overwrite = false;   ///< --overwrite: it may exist
    std::vector<std::pair<std::string, std::string>> options;  ///< of surrogate_options_set
};

/// Times runs of a model on made-up points and inputs, counts its work, and compares with what bare
/// loops reach on the same threads (machine_limits.hpp): lines on rank 0's stdout, by layer and in
/// all. It measures and judges nothing. Collective; errors are Failure or Error, on every rank.
void bench(const Job& job, const BenchArguments& arguments);

}  // namespace surrogate::tool
