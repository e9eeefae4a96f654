// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <surrogate/surrogate.hpp>
#include <vector>

namespace surrogate::tool {

/// The outputs of a model's card, by location.
struct OutputPlaces {
    std::vector<surrogate_field_info> at_points;
    std::vector<surrogate_field_info> of_all;  ///< one number for all points
};

/// Throws Failure (bad_usage) if a mesh cannot hold an input or output of the model: integers, one
/// number for all points as an input, nodes as an output. Local; the result is the same on all
/// ranks.
OutputPlaces output_places(const Model& model);

}  // namespace surrogate::tool
