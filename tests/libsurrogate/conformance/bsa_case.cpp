// SPDX-License-Identifier: Apache-2.0
// Ball Sparse Attention as the laws see it: points of a square with fields.
#include "tests/libsurrogate/conformance/point_family.hpp"
#include "tests/libsurrogate/conformance/point_share.hpp"
#include "tests/support/bsa_models.hpp"
#include "tests/support/sphere_models.hpp"

namespace surrogate::test {
namespace {

using nlohmann::json;

/// On a plane: a bare network.
json on_plane(const json& changes = json::object(), const json& attention = json::object()) {
    const json network = small_bsa({{"dimensionality", 2}, {"depth", 3}}, attention);
    return {{"format", 1}, {"family", "bsa"}, {"network", changed(network, changes)}};
}

/// From two fields at points to one.
json with_fields(const json& changes = json::object(), const json& attention = json::object()) {
    json card = on_plane({{"pos_enc", "none"}, {"c_in", 2}}, attention);
    card["network"] = changed(card["network"], changes);
    card["inputs"] = fields_on_square();
    card["outputs"] = {field("u", 0.01, 0.004)};
    return card;
}

NetworkCase network(const std::string& name, const json& card, int64_t n_point) {
    NetworkCase c = network_case(name, card, bsa_model, n_point);
    c.sends_by_data = card["network"].value("attention_type", "sparse") == "sparse";
    return c;
}

const json group_compression = {{"use_coarse_q_attn", true}};

std::vector<NetworkCase> networks() {
    std::vector<NetworkCase> list = {
        small(network("Fields", with_fields(), 60)),
        small(network("FieldsOfBalls", with_fields({{"attention_type", "ball"}}), 37)),
        small(network("FieldsOfAllPoints", with_fields({{"attention_type", "global"}}), 37)),
        network("NoPoint", with_fields(), 0),
        network("OnePoint", with_fields(), 1),
        network("TwoPoints", with_fields(), 2),
        network("OneBall", with_fields(), 16),
        network("ManyPoints",
                with_fields({{"ball_size", 64}, {"depth", 2}},
                            {{"compress_block_size", 8}, {"group_selection_size", 8}}),
                1500),
        network("Fourier", on_plane(), 100),
        network("Linear", on_plane({{"pos_enc", "linear"}, {"c_out", 2}}), 82),
        network("OnALine", on_plane({{"dimensionality", 1}}), 70),
        network("RotatedBalls", on_plane({{"rotated_order", "ball"}}), 100),
        network("NotRotated", on_plane({{"should_rotate", false}}), 100),
        network("GroupCompression", on_plane(json::object(), group_compression), 130),
        network("CoarseImportance", on_plane(json::object(), {{"use_coarse_q_importance", true}}),
                90),
        network("MeanStaticGates",
                on_plane(json::object(),
                         {{"use_compress_mlp", false}, {"use_token_gated_attention", false}}),
                100),
        network("NoGroupSelection", on_plane(json::object(), {{"use_group_selection", false}}),
                100),
        network("GroupsOfTwoBlocks", on_plane(json::object(), {{"group_selection_size", 8}}), 100),
        network("GroupsOfMoreThanATile",
                on_plane({{"ball_size", 128}, {"depth", 2}},
                         {{"compress_block_size", 128}, {"group_selection_size", 128}}),
                600),
        network("BlocksOfOwnBalls",
                on_plane(json::object(), {{"should_mask_blocks_in_ball", false}}), 100),
        network("MoreChoicesThanBlocks", on_plane(json::object(), {{"selected_blocks_number", 9}}),
                30),
        network("Balls", on_plane({{"attention_type", "ball"}}), 100),
        network("Full", on_plane({{"attention_type", "global"}}), 100),
    };
    for (NetworkCase& c : list) {
        c.is_divided = c.name == "ManyPoints";
        c.n_failing_in_turn = 40;
    }
    return list;
}

FamilyCase make_bsa() {
    FamilyCase bsa = point_family("Bsa");
    bsa.networks = networks();
    refuse_points(bsa, "Fourier");
    refuse(
        bsa,
        {{"OnTheSphere", "Fourier", {}, a_sphere, SURROGATE_SHAPE, "2 coordinates of each point"}});
    return bsa;
}

const FamilyCase& bsa_case() {
    static const FamilyCase bsa = make_bsa();
    return bsa;
}

[[maybe_unused]] const bool is_listed = add_family(bsa_case);

}  // namespace
}  // namespace surrogate::test
