// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <surrogate/surrogate.hpp>
#include <vector>

#include "coupling/job/job.hpp"
#include "coupling/training/card.hpp"
#include "coupling/training/data.hpp"
#include "coupling/training/sample_domain.hpp"
#include "coupling/training/sample_inputs.hpp"

namespace surrogate::tool {

/// Errors of one output in one sample or in a set of samples, in the unit of the output. e is the
/// prediction minus the target at a point, w the weight of the point: the weight in the data, the
/// area on the sphere, or 1. Points of weight 0 do not count.
struct OutputErrors {
    double l1 = 0;           ///< sum w |e| / sum w
    double l2 = 0;           ///< sqrt(sum w e^2 / sum w)
    double relative_l2 = 0;  ///< sqrt(sum w e^2 / sum w target^2); NaN if the target is zero
    double max = 0;          ///< largest |e|
};

/// Errors of one sample, by output.
struct SampleErrors {
    size_t pair = 0;  ///< index in TrainData::training()
    std::vector<OutputErrors> outputs;
    /// Returns the largest relative L2 error of the outputs; NaN if none has one.
    double worst() const;
};

/// Errors of an output on one row of a sphere, over all samples.
struct LatitudeErrors {
    double latitude = 0;  ///< degrees north
    double l1 = 0, l2 = 0;
};

/// Values of an input outside the range of the training data on the card, over all samples.
struct OutsideCount {
    std::string name;
    int64_t n_value = 0, n_outside = 0;
    double fraction() const {
        return n_value > 0 ? static_cast<double>(n_outside) / static_cast<double>(n_value) : 0;
    }
};

/// One sample on rank 0: values of all points in the order of the file.
struct GatheredSample {
    std::vector<double> points;  ///< (n_point, n_axis); empty on the sphere
    std::vector<std::vector<double>> predictions, targets;  ///< by output
};

/// Evaluates a model on the samples of data sets. All functions are collective over the job; errors
/// are Failure or Error, on all ranks.
class ModelRuns {
public:
    /// Reads the points of the first sample and plans for them. The arguments must outlive the
    /// object.
    ModelRuns(const Job& job, const Context& context, const Model& model, const TrainData& data,
              const ModelChannels& channels, const Options& options);

    /// Evaluates a pair. `read_targets` reads further values at domain().range() on this rank.
    void evaluate(const Pair& pair, const std::function<void()>& read_targets);

    /// Counts the values of the last run that are outside of the ranges of the card. Local.
    void count_outside();
    /// Adds the counts of all ranks.
    void finish_counts();
    const std::vector<OutsideCount>& outside() const { return outside_; }

    const SampleDomain& domain() const { return domain_; }
    /// Returns the weight of a point of this rank in errors; 0: it does not count.
    double weight(size_t point) const {
        if (channels_.is_pooled()) return job_.is_root() ? 1 : 0;
        return domain_.weights().empty() ? 1 : domain_.weights()[point];
    }
    /// Returns the predictions of the last run at this rank's points, by output; one number for
    /// each cloud if the model predicts numbers per cloud, which count on rank 0.
    const std::vector<std::vector<double>>& predictions() const { return predictions_; }
    /// Returns the points of a pair on rank 0, (n_point, n_axis); empty on the sphere.
    std::vector<double> gather_points(const Pair& pair) const;

private:
    void bind();

    const Job& job_;
    const TrainData& data_;
    const ModelChannels& channels_;
    SampleDomain domain_;
    std::optional<Plan> plan_;
    SampleInputs inputs_;
    std::vector<std::vector<double>> predictions_;  ///< by output
    std::vector<OutsideCount> outside_;
};

/// Compares predictions of fields with their targets. Collective as ModelRuns.
class FieldEvaluation {
public:
    FieldEvaluation(const Job& job, const Context& context, const Model& model,
                    const TrainData& data, const ModelChannels& channels, const Options& options);

    /// Evaluates all samples.
    void run();

    /// Returns the errors of each sample, in the order of the data.
    const std::vector<SampleErrors>& samples() const { return samples_; }
    /// Returns the errors of each output over all samples: l1 and relative_l2 are means over
    /// samples, l2 is the root of the mean square, max the largest.
    std::vector<OutputErrors> total() const;
    /// Returns the index of the sample with the largest error worst(); 0 if none has one.
    size_t worst_sample() const;
    /// Returns errors by output and row of the sphere; empty for other points.
    std::vector<std::vector<LatitudeErrors>> latitudes() const;
    const std::vector<OutsideCount>& outside() const { return runs_.outside(); }

    /// Evaluates sample `index` again and gathers it. The result is on rank 0.
    GatheredSample gather(size_t index);

private:
    bool is_sphere() const;
    void evaluate(const Pair& pair);
    void measure(size_t index);
    void add_latitudes();

    const Job& job_;
    const Context& context_;
    const TrainData& data_;
    const ModelChannels& channels_;
    ModelRuns runs_;
    std::vector<std::vector<double>> targets_;  ///< by output
    std::vector<SampleErrors> samples_;
    std::vector<double> rows_;  ///< (n_output, n_lat, 3): number of points, sums of |e| and e^2
};

}  // namespace surrogate::tool
