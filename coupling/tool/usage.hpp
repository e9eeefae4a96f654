// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "coupling/job/job.hpp"
#include "coupling/tool/arguments.hpp"

namespace surrogate::tool {

/// Tells what remains to be done after the command line was read.
struct Request {
    std::string subcommand;       ///< empty: nothing
    Exit status = Exit::success;  ///< of the program if nothing remains to be done
};

/// Reads the command line into `arguments`. Rank 0 prints help that was asked for, and errors with
/// the options or the subcommand that may have been meant. A rejected `check` still writes its
/// report (--json). Collective.
Request parse_command_line(const Job& job, int argc, char** argv, Arguments& arguments);

}  // namespace surrogate::tool
