// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "coupling/training/evaluation.hpp"

namespace surrogate::tool {

/// Scores of an embedding in one sample, or their means over samples. A hit is scored if it has a
/// particle, a weight above 0 in the data and enough momentum, and its particle has k > 0 other
/// hits in the sample. Among the 19 hits nearest to it, without itself:
struct EmbeddingScore {
    double accuracy = 0;   ///< hits of the particle among the first k, divided by k
    double precision = 0;  ///< hits of the particle / 19
    double recall = 0;     ///< hits of the particle / k
    int64_t n_hit = 0;     ///< hits that are scored; 0: the scores are 0
};

/// Selection of scored hits by a variable of the data set, the transverse momentum: above `least`.
struct MomentumCut {
    Channel pt;
    double least = 0;
};

/// Scores the outputs of a model as positions of hits, by integer ids of particles (the labels of
/// the channels). Rank 0 gathers one sample after the other and has the scores, which do not depend
/// on the number of ranks. Collective as ModelRuns.
class EmbeddingEvaluation {
public:
    EmbeddingEvaluation(const Job& job, const Context& context, const Model& model,
                        const TrainData& data, const ModelChannels& channels,
                        const Options& options, const std::optional<MomentumCut>& cut = {});

    /// Evaluates all samples. Throws Failure for a particle of more than 20 hits, for which
    /// precision and recall of 19 neighbors are not defined.
    void run();

    /// Returns the scores of each sample. On rank 0.
    const std::vector<EmbeddingScore>& samples() const { return samples_; }
    /// Returns the means over the samples with scored hits, and the number of all hits.
    EmbeddingScore mean() const;
    const std::vector<OutsideCount>& outside() const { return runs_.outside(); }

private:
    const Job& job_;
    const TrainData& data_;
    const ModelChannels& channels_;
    std::optional<MomentumCut> cut_;
    ModelRuns runs_;
    std::vector<EmbeddingScore> samples_;
};

}  // namespace surrogate::tool
