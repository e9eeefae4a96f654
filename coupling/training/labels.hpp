// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "coupling/job/job.hpp"
#include "coupling/training/card.hpp"
#include "coupling/training/config.hpp"
#include "coupling/training/data.hpp"

namespace surrogate::tool {

/// Label of a point that losses and errors ignore, as in PyTorch.
constexpr int64_t ignored_label = -100;

/// Returns the weights of the classes in the order of the outputs; 1 for classes that the
/// configuration does not name. Throws Failure for a name that is not a class.
std::vector<double> class_weights(const TrainConfig& config, const ModelChannels& channels);

/// Properties of a training that decide which labels and weights it can use.
struct LossPoints {
    bool has_weights = true;  ///< the loss uses weights
    int64_t n_drawn = 0;      ///< random points of a sample that a step uses; 0: all
};

/// Checks that all labels of the pairs are classes or ignored, that all weights are at least 0, and
/// that no sample has only points that are ignored or have weight 0. The samples are divided among
/// the ranks. Collective; errors are Failure or Error, on all ranks, with the first wrong number.
/// Does nothing for data without labels and weights.
void check_loss_points(const Job& job, const TrainData& data, const ModelChannels& channels,
                       const std::vector<Pair>& pairs, const LossPoints& points = {});

}  // namespace surrogate::tool
