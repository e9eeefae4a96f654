// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/libsurrogate/conformance/family_case.hpp"
#include "tests/support/model_writer.hpp"

/// Parts that the cases of families on scattered points share.
namespace surrogate::test {

/// Returns a family with modes, partitions and shares, and a plan that is rejected for two domains;
/// without networks. The caller must add a network "Fields".
FamilyCase point_family(const std::string& name);

/// Adds plans that the family rejects.
void refuse(FamilyCase& family, const std::vector<RefusedPlan>& plans);
/// Plans of a network of two coordinates that is given one, or a point twice.
void refuse_points(FamilyCase& family, const std::string& network);

/// A field of a card.
nlohmann::json field(const std::string& name, double mean, double std);
/// Inputs of a card: the positions on a square, and two fields there.
nlohmann::json fields_on_square();

/// NetworkCase::file of a card, with weights by fill().
using Fill = ModelWriter (*)(const nlohmann::json& card);
std::function<std::shared_ptr<const std::string>()> filled(const nlohmann::json& card, Fill fill);

NetworkCase network_case(const std::string& name, const nlohmann::json& card, Fill fill,
                         int64_t n_point);
inline NetworkCase small(NetworkCase network) {
    network.is_small = true;
    return network;
}

}  // namespace surrogate::test
