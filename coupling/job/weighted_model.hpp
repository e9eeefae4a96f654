// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <surrogate/surrogate.hpp>

namespace surrogate::tool {

/// Returns true if the network counts points with the weights of the domain, which it then must
/// have: FLARE with network.point_weights.
bool uses_point_weights(const Model& model);
bool uses_point_weights(const nlohmann::json& card);

}  // namespace surrogate::tool
