// SPDX-License-Identifier: Apache-2.0
#include "coupling/job/weighted_model.hpp"

#include <nlohmann/json.hpp>

namespace surrogate::tool {

bool uses_point_weights(const nlohmann::json& card) {
    const auto& network = card.at("network");
    const auto found = network.find("point_weights");
    return card.at("family") == "flare" && found != network.end() && found->is_boolean() &&
           found->get<bool>();
}

bool uses_point_weights(const Model& model) {
    return uses_point_weights(nlohmann::json::parse(model.describe()).at("card"));
}

}  // namespace surrogate::tool
