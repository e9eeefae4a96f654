// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "coupling/tool/arguments.hpp"

namespace surrogate::tool {

/// All commands with their options and help: the one source of what the parser takes, of --help,
/// and of the manual page and the completion (manual.hpp). What an option takes is its type name:
/// "FILE", "a|b|c" for one of several words, "N" a number, other capitals any text. `arguments`
/// must live as long as the result.
std::unique_ptr<CLI::App> make_commands(Arguments& arguments);

/// The values of an option that takes one of several words; empty for others.
std::vector<std::string> choices_of(const CLI::Option& option);

}  // namespace surrogate::tool
