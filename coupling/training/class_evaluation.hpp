// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "coupling/training/class_scores.hpp"
#include "coupling/training/evaluation.hpp"

namespace surrogate::tool {

/// One sample on rank 0.
struct GatheredClasses {
    std::vector<double> points;  ///< (n_point, n_axis); empty on the sphere
    ClassSample sample;
};

/// Compares classes with their labels. Rank 0 gathers the logits of one sample after the other and
/// has the scores, which do not depend on the number of ranks. Collective as ModelRuns.
class ClassEvaluation {
public:
    ClassEvaluation(const Job& job, const Context& context, const Model& model,
                    const TrainData& data, const ModelChannels& channels, const Options& options,
                    const std::vector<int64_t>& top_k);

    /// Evaluates all samples. Throws Failure for labels that are not classes, and for samples
    /// without labeled points.
    void run();

    /// Returns the scores. On rank 0.
    const ClassScores& scores() const { return scores_; }
    /// Returns the index of the sample with the smallest accuracy, on all ranks.
    size_t worst_sample() const { return worst_; }
    const std::vector<OutsideCount>& outside() const { return runs_.outside(); }

    /// Evaluates sample `index` again and gathers it. The result is on rank 0.
    GatheredClasses gather(size_t index);

private:
    /// Evaluates a sample and gathers it on rank 0.
    ClassSample evaluate(const Pair& pair);

    const Job& job_;
    const TrainData& data_;
    const ModelChannels& channels_;
    ModelRuns runs_;
    bool is_probability_;  ///< the output, instead of a logit
    ClassScores scores_;
    size_t worst_ = 0;
};

}  // namespace surrogate::tool
