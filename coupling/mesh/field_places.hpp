// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <surrogate/surrogate.hpp>
#include <vector>

namespace surrogate::tool {

/// The outputs of a model's card, by where they are.
struct OutputPlaces {
    std::vector<surrogate_field_info> at_points;
    std::vector<surrogate_field_info> of_all;  ///< one number for all points
};

/// Throws Failure (bad_usage) if a mesh cannot hold what the model takes or gives: integers, one
/// number for all points as an input, nodes as an output. Local, the same on every rank.
OutputPlaces output_places(const Model& model);

}  // namespace surrogate::tool
