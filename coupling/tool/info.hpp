// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "coupling/job/job.hpp"

namespace surrogate::tool {

/// Arguments of `surrogate info [FILE]`.
struct InfoArguments {
    std::string file;         ///< "": describe this build and machine
    bool has_memory = false;  ///< --memory: measure the memory of a plan without limits
    bool has_json = false;    ///< --json: a JSON object instead of lines
    bool has_card =
        false;  ///< --card: the card only, without checksums, as input of `convert --card`
};

/// Describes a model file on rank 0's stdout. Safe for untrusted files: beyond the model itself it
/// allocates at most 256 MB, and long texts are shortened with a count of the omitted parts.
/// Collective. Errors: surrogate::Error, Failure (--card without a file), the same on all ranks.
void info(const Job& job, const InfoArguments& arguments);

}  // namespace surrogate::tool
