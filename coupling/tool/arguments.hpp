// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "coupling/spectrum/spectrum.hpp"
#include "coupling/tool/bench.hpp"
#include "coupling/tool/check.hpp"
#include "coupling/tool/convert.hpp"
#include "coupling/tool/create.hpp"
#include "coupling/tool/evaluate.hpp"
#include "coupling/tool/info.hpp"
#include "coupling/tool/predict.hpp"
#include "coupling/tool/train.hpp"

namespace surrogate::tool {

/// Arguments of the command line.
struct Arguments {
    InfoArguments info;
    CheckArguments check;
    PredictArguments predict;
    ConvertArguments convert;
    CreateArguments create;
    SpectrumArguments spectrum;
    BenchArguments bench;
    TrainArguments train;
    EvaluateArguments evaluate;
    std::vector<std::string> predict_maps, predict_numbers, evaluate_maps;
    std::map<std::string, std::string>
        plan_options;              ///< of predict, evaluate and bench; for surrogate_options_set
    bool is_reproducible = false;  ///< of predict, evaluate and bench
    bool allows_code = false;      ///< of predict, evaluate and bench
};

}  // namespace surrogate::tool
