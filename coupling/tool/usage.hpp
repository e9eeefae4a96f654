// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "coupling/tool/job.hpp"

namespace surrogate::tool {

/// The words behind the program's name.
using Words = std::vector<std::string>;

/// `help` and `help check` as the option that every command has.
Words understood(int argc, char** argv);

/// Throws CLI::ParseError for a first word that is no command, with the near one: CLI11 would say that
/// one is missing.
void require_verb(const CLI::App& app, const Words& words);

/// A command line that could not be understood, or a request for help: prints once, not once a rank.
/// A refused `check` writes its report (--json) all the same.
Exit answer(const Job& job, const CLI::App& app, const CLI::ParseError& error, const Words& words);

}  // namespace surrogate::tool
