// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <surrogate/surrogate.hpp>

#include "coupling/job/job.hpp"
#include "coupling/training/card.hpp"
#include "coupling/training/data.hpp"

namespace surrogate::tool {

/// Adds a check case to a model file (see reference/model-file.md): one sample and the outputs of
/// the network for it in single precision and, up to 100,000 points, in double precision. Replaces
/// the whole file. The sample has no clouds, which a check case does not store. Collective over the
/// context, which must contain all ranks of the job; errors are Failure or Error, on all ranks.
void add_check_case(const Job& job, const Context& context, const TrainData& data,
                    const ModelChannels& channels, const Pair& pair, const std::string& path);

}  // namespace surrogate::tool
