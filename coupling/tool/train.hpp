// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "coupling/job/job.hpp"

namespace surrogate::tool {

/// The command line of `surrogate train CONFIG`.
struct TrainArguments {
    std::string config;      ///< CONFIG, a TOML file (page reference/training-configuration.md)
    bool resume = false;     ///< --resume: go on from the folder's checkpoint
    bool overwrite = false;  ///< --overwrite: begin anew in a folder that has a training
    bool dry_run = false;    ///< --dry-run: print memory, bytes and times; write nothing
    bool quiet = false;      ///< --quiet: warnings and errors only
};

/// Trains a model from data sets. Collective over the job; a summary goes to rank 0's stdout,
/// progress and warnings to its stderr. Returns success, or stopped after a signal: then the
/// checkpoint holds all that was learnt. Errors: Failure or Error, on all ranks with the same text;
/// the last checkpoint stays. In a build without HDF5 or toml++: Failure
/// that says so.
Exit train(Job& job, const TrainArguments& arguments);

}  // namespace surrogate::tool
