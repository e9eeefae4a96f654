// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "coupling/job/job.hpp"
#include "coupling/training/card.hpp"
#include "coupling/training/data.hpp"

namespace surrogate::tool {

/// Checks the clouds of samples: their numbers and, for targets with one row per cloud, that each
/// cloud has points and a target. The samples are divided among the ranks. Collective; errors are
/// Failure or Error, on all ranks, with the sample.
void check_clouds(const Job& job, const TrainData& data, const ModelChannels& channels,
                  const std::vector<Pair>& pairs);

}  // namespace surrogate::tool
