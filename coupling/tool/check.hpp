// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "coupling/case/check_case.hpp"
#include "coupling/job/job.hpp"

namespace surrogate::tool {

/// Arguments of `surrogate check FILE`.
struct CheckArguments {
    std::string file;
    CheckSettings settings;
    std::string json;  ///< --json: file of the report; "": none
    std::string save;  ///< --save: safetensors file for y; "": none
};

/// Runs the check case of a model file on the ranks of the job. Prints a few lines on rank 0 and
/// writes the report in every case. Collective. Returns the exit status, the same on all ranks.
/// Throws Failure if the report cannot be written.
Exit check(const Job& job, const CheckArguments& arguments);

/// Writes a report that contains only an error, for an invalid command line. The purpose of its
/// `words` is unknown, so no file that they name is overwritten except the file that is given once,
/// to --json. Collective.
void report_usage_error(const Job& job, const CheckArguments& arguments, const std::string& error,
                        const std::vector<std::string>& words);

}  // namespace surrogate::tool
