// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "coupling/tool/evaluate.hpp"
#include "coupling/training/card.hpp"
#include "coupling/training/data.hpp"

namespace surrogate::tool {

/// Runs `evaluate --labels`: scores, confusion matrix and worst sample of a classifier. Collective
/// as evaluate().
void evaluate_classes(const Job& job, const Context& context, const Model& model,
                      const EvaluateArguments& arguments, const TrainData& data,
                      const ModelChannels& channels, const Options& options);

}  // namespace surrogate::tool
