// SPDX-License-Identifier: Apache-2.0
// Affine models as the laws see them: points of a square with fields. Points do not influence each
// other, so the laws on faults of one rank, which concern small networks, do not hold.
#include "tests/libsurrogate/conformance/point_family.hpp"
#include "tests/libsurrogate/conformance/point_share.hpp"

namespace surrogate::test {
namespace {

using nlohmann::json;

ModelWriter without_weights(const json& card) {
    ModelWriter writer;
    writer.card = card;
    return writer;
}

NetworkCase network(const std::string& name, bool has_fields, int64_t n_point) {
    json card = {{"format", 1},
                 {"family", "affine"},
                 {"network", {{"matrix", {{0.5, -2, 0.25, 3}}}, {"offset", {0.125}}}}};
    if (has_fields) {
        card["inputs"] = fields_on_square();
        card["outputs"] = {field("u", 0.01, 0.004)};
    }
    return network_case(name, card, without_weights, n_point);
}

FamilyCase make_affine() {
    FamilyCase affine = point_family("Affine");
    affine.networks = {network("Fields", true, 60), network("Bare", false, 37),
                       network("NoPoint", true, 0), network("OnePoint", true, 1),
                       network("ManyPoints", true, 1500)};
    affine.networks.back().is_divided = true;
    for (Mode& mode : affine.modes) mode.tolerance = 0;
    return affine;
}

const FamilyCase& affine_case() {
    static const FamilyCase affine = make_affine();
    return affine;
}

[[maybe_unused]] const bool is_listed = add_family(affine_case);

}  // namespace
}  // namespace surrogate::test
