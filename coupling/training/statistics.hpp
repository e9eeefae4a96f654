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

/// Moments of numbers that are added in parts. Shifted sums avoid cancellation.
struct Moments {
    double weight = 0, mean = 0, square = 0;  ///< square: sum of weight * (value - mean)^2
    void add(const Moments& more);
    static Moments of(const std::vector<double>& values, const std::vector<double>& weights);
    /// Returns sqrt(square / weight); 0 without numbers.
    double deviation() const;
};

/// Statistics of one channel over the training samples.
struct ChannelStatistics {
    double mean = 0, std = 1;  ///< over all points of all samples; divisor N - 1, never 0
    double min = std::numeric_limits<double>::infinity();
    double max = -std::numeric_limits<double>::infinity();
    /// Weighted mean and standard deviation of each sample over its points.
    std::vector<double> sample_mean, sample_deviation;
};

struct DataStatistics {
    std::vector<ChannelStatistics> inputs, outputs;
    /// Root mean square change of each output between input and target of a pair; empty if an
    /// output is not an input.
    std::vector<double> increments;
};

/// Computes statistics in one pass over the training pairs, which is divided among all ranks. Each
/// rank holds only a part of a sample in memory. The result is bitwise identical for any number of
/// ranks. Collective; errors are Failure, on all ranks.
DataStatistics read_statistics(const Job& job, const Context& context, const TrainData& data,
                               const std::vector<Channel>& inputs,
                               const std::vector<Channel>& outputs);

/// Returns, for pair p and output o at p * outputs.size() + o, true if the target is zero at all
/// points whose weight is not 0. Reads the first points of each target, and further points only
/// while they are zero. Collective; errors are Failure, on all ranks.
std::vector<bool> find_zero_targets(const Job& job, const Context& context, const TrainData& data,
                                    const std::vector<Pair>& pairs,
                                    const std::vector<Channel>& outputs);

}  // namespace surrogate::tool
