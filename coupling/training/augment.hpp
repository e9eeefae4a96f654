// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "coupling/training/card.hpp"
#include "coupling/training/config.hpp"
#include "coupling/training/data.hpp"

namespace surrogate::tool {

/// Transform of the points of one sample: a linear map about a center, and random displacements.
/// It acts on the first three coordinates.
struct Transform {
    using Matrix = std::array<std::array<double, 3>, 3>;
    Matrix matrix = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};  ///< orthogonal: reflections, rotation
    double scale = 1;
    double jitter = 0;          ///< standard deviation of the displacement along each axis
    bool is_about_box = false;  ///< center: the middle of the sample's bounding box, or the origin
    uint64_t key = 0;           ///< of the random numbers of the displacements
};

/// Returns a random transform. Equal arguments give equal transforms.
Transform random_transform(const Augmentation& augmentation, int64_t seed, int64_t epoch,
                           int64_t index);

/// Transforms points (n, n_axis) about a center. The displacement of a point depends on its id.
void transform_points(const Transform& transform, const std::array<double, 3>& center,
                      const std::vector<int64_t>& ids, size_t n_axis, std::vector<double>* points);

/// Fields that are the components of a vector: their indices by axis, -1 for a missing one.
using VectorFields = std::array<int64_t, 3>;

/// Returns the vectors among fields, by their names: velocity.x, velocity.y.
std::vector<VectorFields> vectors_of(const std::vector<Channel>& channels);

/// Applies the linear map, without its scale, to the components of vectors.
void transform_vectors(const Transform& transform, const std::vector<VectorFields>& vectors,
                       std::vector<std::vector<double>>* fields);

/// Throws Failure if the data do not admit the augmentation: a grid on the sphere, a loss that
/// needs a structured grid, axes that the data do not have, components of a vector without the
/// components that a rotation mixes with them, or components of a tensor.
void check_augmentation(const TrainConfig& config, const TrainData& data,
                        const ModelChannels& channels);

}  // namespace surrogate::tool
