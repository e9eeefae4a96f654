// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "coupling/job/job.hpp"
#include "coupling/training/card.hpp"
#include "coupling/training/data.hpp"

namespace surrogate::tool {

/// Properties of a training that decide which weights it can use.
struct WeightUse {
    bool is_in_loss = true;  ///< the loss uses weights
    int64_t n_drawn = 0;     ///< random points of a sample that a step uses; 0: all
};

/// Checks the weights of points in losses: they are at least 0, and each sample has a point that
/// counts, whose weight is not 0 and which has a class if there are labels. The samples are divided
/// among the ranks. Collective; errors are Failure or Error, on all ranks, with the sample.
void check_weights(const Job& job, const TrainData& data, const ModelChannels& channels,
                   const std::vector<Pair>& pairs, const WeightUse& use = {});

}  // namespace surrogate::tool
