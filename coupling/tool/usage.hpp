// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "coupling/job/job.hpp"
#include "coupling/tool/arguments.hpp"

namespace surrogate::tool {

/// Remaining work after the command line was parsed.
struct Request {
    std::string subcommand;       ///< empty: none
    Exit status = Exit::success;  ///< status of the program if no work remains
};

/// Parses the command line into `arguments`. Rank 0 prints requested help, and errors with near
/// misses of options and subcommands. An invalid `check` still writes its report (--json).
/// Collective.
Request parse_command_line(const Job& job, int argc, char** argv, Arguments& arguments);

}  // namespace surrogate::tool
