// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "coupling/job/job.hpp"

namespace surrogate::tool {

/// Arguments of `surrogate train CONFIG`.
struct TrainArguments {
    std::string config;      ///< CONFIG, a TOML file (see reference/training-configuration.md)
    bool resume = false;     ///< --resume: continue from the checkpoint in the folder
    bool overwrite = false;  ///< --overwrite: discard an existing training in the folder
    bool dry_run = false;    ///< --dry-run: print memory, bytes and times; write nothing
    bool quiet = false;      ///< --quiet: warnings and errors only
};

/// Trains a model from data sets. Collective over the job; a summary is printed to rank 0's stdout,
/// progress and warnings to its stderr. Returns success, or stopped after a signal; the checkpoint
/// then contains all progress. Errors: Failure or Error, on all ranks with the same text; the last
/// checkpoint is kept. A build without HDF5 or toml++ throws Failure.
Exit train(Job& job, const TrainArguments& arguments);

}  // namespace surrogate::tool
