// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "coupling/training/evaluation.hpp"

namespace surrogate::tool {

/// A sample on rank 0, and the data that it comes from.
struct ShownSample {
    const TrainData& data;
    const ModelChannels& channels;
    const Pair& pair;
    const GatheredSample& values;
    size_t output;        ///< output with the largest relative L2 error
    std::string heading;  ///< of the figure
};

/// Throws Failure unless samples of these data can be drawn: they need points on a structured grid
/// of two axes or on a sphere, and a build with VTK.
void require_figure(const TrainData& data);

/// Throws Failure in a build without VTK, and unless the path ends in .pvd.
void require_series(const std::string& path);

/// Writes target, prediction and difference of the output as an image. Local. Throws Error.
void write_figure(const std::string& path, const ShownSample& sample);

/// Writes the sample as a series with one step: for each output the prediction, `<name>.target` and
/// `<name>.error`. Local. Throws Error.
void write_sample(const std::string& path, const ShownSample& sample);

}  // namespace surrogate::tool
