// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "coupling/job/job.hpp"
#include "coupling/training/card.hpp"
#include "coupling/training/config.hpp"
#include "coupling/training/data.hpp"

namespace surrogate::tool {

/// Returns the weights of the classes in the order of the outputs; 1 for classes that the
/// configuration does not name. Throws Failure for a name that is not a class.
std::vector<double> class_weights(const TrainConfig& config, const ModelChannels& channels);

/// Throws Failure for a label of a pair that is neither a class nor ignored. `first` is the point
/// of labels[0]. Local.
void check_labels(const TrainData& data, const ModelChannels& channels, const Pair& pair,
                  const std::vector<int64_t>& labels, int64_t first);

/// Checks that all labels of the pairs are classes or ignored, and that no sample is ignored
/// completely. The samples are divided among the ranks. Collective; errors are Failure, on all
/// ranks, with the first wrong label. Does nothing without labels.
void check_labels(const Job& job, const TrainData& data, const ModelChannels& channels,
                  const std::vector<Pair>& pairs);

}  // namespace surrogate::tool
