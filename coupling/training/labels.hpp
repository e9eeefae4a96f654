// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "coupling/job/job.hpp"
#include "coupling/training/card.hpp"
#include "coupling/training/config.hpp"
#include "coupling/training/data.hpp"

namespace surrogate::tool {

/// Returns true if the targets of a loss are labels of classes.
bool uses_classes(const std::string& loss);

/// Returns the names of the classes of a classifier, which are the names of its outputs. A single
/// output is the logit of label 1; label 0 is "not NAME".
std::vector<std::string> class_names(const ModelChannels& channels);

/// Returns the weights of the classes; 1 for classes that the configuration does not name by their
/// output. Throws Failure for a name that is not an output.
std::vector<double> class_weights(const TrainConfig& config, const ModelChannels& channels);

/// Throws Failure for a label of a pair that is neither a class nor ignored. `first` is the point
/// of labels[0]. Local.
void require_classes(const TrainData& data, const ModelChannels& channels, const Pair& pair,
                     const std::vector<int64_t>& labels, int64_t first);

/// Throws Failure for a label of a pair that is neither the id of a particle nor ignored. `first`
/// is the point of ids[0]. Local.
void require_particles(const TrainData& data, const ModelChannels& channels, const Pair& pair,
                       const std::vector<int64_t>& ids, int64_t first);

/// Calls check(pair) for the pairs of this rank, among which they are divided. Collective; errors
/// are Failure or Error, on all ranks.
template <class Check>
void for_own_pairs(const Job& job, const std::vector<Pair>& pairs, const Check& check) {
    job.agree([&] {
        const auto size = static_cast<size_t>(job.size());
        for (size_t i = static_cast<size_t>(job.rank()); i < pairs.size(); i += size)
            check(pairs[i]);
    });
}

/// Checks that all labels of the pairs are classes or ignored, and that no sample is ignored
/// completely. The samples are divided among the ranks. Collective; errors are Failure, on all
/// ranks, with the first wrong label. Does nothing without labels.
void check_labels(const Job& job, const TrainData& data, const ModelChannels& channels,
                  const std::vector<Pair>& pairs);

/// Checks that all labels of the pairs are ids of particles or ignored, and that each sample has a
/// particle with two points of weight 1. The samples are divided among the ranks. Collective;
/// errors are Failure, on all ranks.
void check_particles(const Job& job, const TrainData& data, const ModelChannels& channels,
                     const std::vector<Pair>& pairs);

}  // namespace surrogate::tool
