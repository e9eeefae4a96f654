// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "coupling/case/check_case.hpp"
#include "coupling/job/job.hpp"

namespace surrogate::tool {

/// The command line of `surrogate check FILE`.
struct CheckArguments {
    std::string file;
    CheckSettings settings;
    std::string json;  ///< --json: where the report goes; "": nowhere
    std::string save;  ///< --save: where y goes as safetensors; "": nowhere
};

/// Runs the check case of a model file on the ranks of the job; prints a few lines on rank 0 and
/// writes the report in every case. Collective. The answer is the exit status, the same on every
/// rank. Errors: Failure if the report itself cannot be written.
Exit check(const Job& job, const CheckArguments& arguments);

/// A report of nothing but an error, for a command line that could not be understood: nobody knows
/// which of its `words` was meant as what, and no file that one of them names is written over but
/// the one given once, to --json. Collective.
void report_usage_error(const Job& job, const CheckArguments& arguments, const std::string& error,
                        const std::vector<std::string>& words);

}  // namespace surrogate::tool
