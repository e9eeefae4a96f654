// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "coupling/tool/bench.hpp"
#include "coupling/tool/check.hpp"
#include "coupling/tool/convert.hpp"
#include "coupling/tool/info.hpp"
#include "coupling/tool/predict.hpp"
#include "coupling/tool/spectrum.hpp"
#include "coupling/tool/train.hpp"

namespace surrogate::tool {

/// The command line, understood.
struct Arguments {
    InfoArguments info;
    CheckArguments check;
    PredictArguments predict;
    ConvertArguments convert;
    SpectrumArguments spectrum;
    BenchArguments bench;
    TrainArguments train;
    std::vector<std::string> predict_maps;
    std::map<std::string, std::string>
        plan_options;              ///< of predict and bench: as surrogate_options_set
    bool is_reproducible = false;  ///< of predict and bench
};

/// All commands with their options and help: the one source of what the parser takes, of --help, and
/// of the manual page and the completion (manual.hpp). What an option takes is its type name: "FILE",
/// "a|b|c" for one of several words, "N" a number, other capitals any text. `arguments` must live as
/// long as the result.
std::unique_ptr<CLI::App> make_commands(Arguments& arguments);

/// The values of an option that takes one of several words; empty for others.
std::vector<std::string> choices_of(const CLI::Option& option);

}  // namespace surrogate::tool
