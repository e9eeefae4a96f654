// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <surrogate/surrogate.hpp>

#include "coupling/job/job.hpp"
#include "coupling/training/card.hpp"
#include "coupling/training/data.hpp"

namespace surrogate::tool {

/// Gives a model file a check case (page reference/model-file.md): what its network makes of one
/// sample, in single and, up to 100,000 points, in double precision. The file is replaced, whole.
/// Returns false and changes nothing for networks whose tensors are not one row a point. Collective
/// over the context, which has all ranks of the job; errors are Failure or Error, on all ranks.
bool add_check_case(const Job& job, const Context& context, const TrainData& data,
                    const ModelChannels& channels, const Pair& pair, const std::string& path);

}  // namespace surrogate::tool
