// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "coupling/training/evaluation.hpp"

namespace surrogate::tool {

/// A sample on rank 0.
struct ShownSample {
    const TrainData& data;
    const Pair& pair;
    const std::vector<double>& points;  ///< (n_point, n_axis); empty on the sphere
};

/// A field of a sample: values at all points, in the order of the file.
struct ShownField {
    std::string name, unit;
    std::vector<double> values;
};

/// A field in a figure.
struct ShownPanel {
    std::string title;
    const ShownField& field;
    double low, high;  ///< ends of the color scale
    bool is_difference = false;
};

/// Throws Failure unless samples of these data can be drawn: they need points on a structured grid
/// of two axes or on a sphere, and a build with VTK.
void require_figure(const TrainData& data);

/// Throws Failure in a build without VTK, and unless the path ends in .pvd.
void require_series(const std::string& path);

/// Writes panels side by side as an image. Local. Throws Error.
void write_figure(const std::string& path, const ShownSample& sample, const std::string& heading,
                  const std::vector<ShownPanel>& panels);

/// Writes fields as a series with one step. Local. Throws Error.
void write_sample(const std::string& path, const ShownSample& sample,
                  const std::vector<ShownField>& fields);

}  // namespace surrogate::tool
