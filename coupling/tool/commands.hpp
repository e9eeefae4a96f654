// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "coupling/tool/arguments.hpp"

namespace surrogate::tool {

/// Creates all commands with their options and help: the one source for the parser, --help, the
/// manual page and the completion (manual.cpp). The type name of an option describes its value:
/// "FILE", "a|b|c" for one of several words, "N" for a number, other capitals for any text.
/// `arguments` must outlive the result.
std::unique_ptr<CLI::App> make_commands(Arguments& arguments);

/// Returns the values of an option that has a list of words; empty for other options.
std::vector<std::string> choices_of(const CLI::Option& option);

}  // namespace surrogate::tool
