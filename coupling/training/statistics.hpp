// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <surrogate/surrogate.hpp>
#include <vector>

#include "coupling/job/job.hpp"
#include "coupling/training/data.hpp"

namespace surrogate::tool {

/// Moments of numbers that come in parts: shifted sums, so that nothing cancels.
struct Moments {
    double weight = 0, mean = 0, square = 0;  ///< square: sum of weight * (value - mean)^2
    void add(const Moments& more);
    static Moments of(const std::vector<double>& values, const std::vector<double>& weights);
    /// sqrt(square / weight); 0 without numbers.
    double deviation() const;
};

/// Statistics of one channel over the training samples.
struct ChannelStatistics {
    double mean = 0, std = 1;  ///< over all points of all samples; N - 1, and never 0
    double min = std::numeric_limits<double>::infinity();
    double max = -std::numeric_limits<double>::infinity();
    /// Mean and standard deviation of each sample over its points, with their weights.
    std::vector<double> sample_mean, sample_deviation;
};

struct DataStatistics {
    std::vector<ChannelStatistics> inputs, outputs;
    /// The root mean square change of each output between input and target of a pair; empty where
    /// an output is no input.
    std::vector<double> increments;
};

/// One pass over the training pairs, shared by all ranks; holds a part of a sample at a time. The
/// same bits for any number of ranks. Collective; errors are Failure, on all ranks.
DataStatistics read_statistics(const Job& job, const Context& context, const TrainData& data,
                               const std::vector<Channel>& inputs,
                               const std::vector<Channel>& outputs);

/// Returns, for pair p and output o at p * outputs.size() + o, whether the target is zero at all
/// points. Reads the first points of each target, and more only while they are zero. Collective;
/// errors are Failure, on all ranks.
std::vector<bool> find_zero_targets(const Job& job, const Context& context, const TrainData& data,
                                    const std::vector<Pair>& pairs,
                                    const std::vector<Channel>& outputs);

}  // namespace surrogate::tool
