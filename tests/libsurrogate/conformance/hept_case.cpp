// SPDX-License-Identifier: Apache-2.0
// HEPT as the laws see it: points of a square with fields.
#include "tests/libsurrogate/conformance/point_family.hpp"
#include "tests/libsurrogate/conformance/point_share.hpp"
#include "tests/support/hept_models.hpp"
#include "tests/support/sphere_models.hpp"

namespace surrogate::test {
namespace {

using nlohmann::json;

/// From two fields at points to one.
json with_fields(const json& changes = json::object()) {
    return {{"format", 1},
            {"family", "hept"},
            {"network", small_hept(changes)},
            {"inputs", fields_on_square()},
            {"outputs", {field("u", 0.01, 0.004)}}};
}

json bare(const json& changes) {
    return {{"format", 1}, {"family", "hept"}, {"network", small_hept(changes)}};
}

NetworkCase network(const std::string& name, const json& card, int64_t n_point) {
    return network_case(name, card, hept_model, n_point);
}

std::vector<NetworkCase> networks() {
    std::vector<NetworkCase> list = {
        small(network("Fields", with_fields(), 60)),
        small(network("FieldsCopied", with_fields({{"padding", "duplicate"}}), 37)),
        small(network("FieldsWithZeros", with_fields({{"padding", "zero"}}), 37)),
        network("NoPoint", with_fields(), 0),
        network("OnePoint", with_fields(), 1),
        network("OnePointCopied", with_fields({{"padding", "duplicate"}}), 1),
        network("TwoPointsWithZeros", with_fields({{"padding", "zero"}}), 2),
        network("OneBlock", with_fields(), 8),
        network("BlocksOfOnePoint", with_fields({{"block_size", 1}}), 30),
        network("ManyPoints", with_fields({{"block_size", 32}, {"n_layers", 1}}), 300),
        network("BlockLargerThanTheCloud", with_fields({{"block_size", 1024}}), 100),
        network("Embedding", bare({{"num_classes", nullptr}}), 82),
        network("FiveHeadsOfOneTable",
                bare({{"num_heads", 5}, {"n_hashes", 1}, {"padding", "duplicate"}}), 75),
        network("OddWidth", bare({{"h_dim", 7}, {"num_w_per_dist", 3}}), 50),
    };
    for (NetworkCase& c : list) {
        c.is_divided = c.name == "ManyPoints";
        c.n_failing_in_turn = 40;
        c.n_trim =
            7;  // buffers of std::stable_sort, and of std::inplace_merge for each of six rows
    }
    return list;
}

FamilyCase make_hept() {
    FamilyCase hept = point_family("Hept");
    hept.networks = networks();
    // The points have ids: no mode depends on ranks.
    for (Mode& mode : hept.modes) mode.tolerance = 0;
    refuse_points(hept, "Fields");
    refuse(
        hept,
        {{"OnTheSphere", "Fields", {}, a_sphere, SURROGATE_SHAPE, "2 coordinates of each point"}});
    return hept;
}

const FamilyCase& hept_case() {
    static const FamilyCase hept = make_hept();
    return hept;
}

[[maybe_unused]] const bool is_listed = add_family(hept_case);

}  // namespace
}  // namespace surrogate::test
