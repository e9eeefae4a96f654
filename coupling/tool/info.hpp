// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "coupling/job/job.hpp"

namespace surrogate::tool {

/// The command line of `surrogate info [FILE]`.
struct InfoArguments {
    std::string file;         ///< "": what this build and machine offer
    bool has_memory = false;  ///< --memory: the memory a plan takes, whatever finding out takes
    bool has_json = false;    ///< --json: an object for programs instead of lines for people
    bool has_card =
        false;  ///< --card: the card only, without checksums: what `convert --card` takes
};

/// Tells a person or a program, on rank 0's stdout, what a model file is. Cheap on files of unknown
/// origin: beyond the model itself it takes at most 256 MB, and what is longer than a few lines is
/// cut with a count of what was left out. Collective. Errors: surrogate::Error, Failure (--card
/// without a file), the same on every rank.
void info(const Job& job, const InfoArguments& arguments);

}  // namespace surrogate::tool
