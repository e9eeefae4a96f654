// SPDX-License-Identifier: Apache-2.0
// Sequoia as the laws see it: points of a square with fields, and sequences by ids.
#include "tests/support/sequoia_case.hpp"

#include "tests/libsurrogate/conformance/point_family.hpp"
#include "tests/libsurrogate/conformance/point_share.hpp"
#include "tests/support/sphere_models.hpp"

namespace surrogate::test {
namespace {

using nlohmann::json;

/// From two fields at points to one.
json with_fields(const json& changes = json::object()) {
    const json network = small_sequoia({{"pos_enc", "none"}, {"dimensionality", 2}, {"c_in", 2}});
    return {{"format", 1},
            {"family", "sequoia"},
            {"network", changed(network, changes)},
            {"inputs", fields_on_square()},
            {"outputs", {field("u", 0.01, 0.004)}}};
}

json on_plane(const json& changes = json::object()) {
    return {{"format", 1},
            {"family", "sequoia"},
            {"network", changed(small_sequoia({{"dimensionality", 2}}), changes)}};
}

json of_tokens(const json& changes = json::object()) {
    return {{"format", 1}, {"family", "sequoia"}, {"network", small_sequence(changes)}};
}

NetworkCase network(const std::string& name, const json& card, int64_t n_point) {
    return network_case(name, card, sphere_model, n_point);
}

std::vector<NetworkCase> networks() {
    std::vector<NetworkCase> list = {
        small(network("Fields", with_fields(), 60)),
        small(
            network("FieldsBinaryComplete", with_fields({{"k", 2}, {"seq_mode", "complete"}}), 37)),
        network("NoPoint", with_fields(), 0),
        network("OnePoint", with_fields(), 1),
        network("TwoPoints", with_fields(), 2),
        network("SixteenChildren", with_fields({{"k", 16}, {"num_layers", 2}}), 1500),
        network("GroupsOfMoreThanATile", with_fields({{"k", 100}, {"num_layers", 1}}), 450),
        network("Fourier", on_plane(), 100),
        network("LinearTied", on_plane({{"pos_enc", "linear"}, {"tied_weights", true}}), 82),
        network("TopDownParentOnly", on_plane({{"seq_mode", "top-down"}, {"ancestors", "parent"}}),
                100),
        network("InterleavedRepeat",
                on_plane({{"seq_mode", "interleaved"}, {"ragged", "repeat"}, {"k", 4}}), 75),
        network("WithoutChildren", on_plane({{"drop", {"children"}}}), 50),
        network("SiblingsAlone", on_plane({{"drop", {"children", "ancestors"}}}), 50),
        network("WithoutSiblings", on_plane({{"drop", {"siblings"}}}), 50),
        network("Root", on_plane({{"probe_layer", "root"}}), 100),
        network("MeanOfLeaves", on_plane({{"pooling_mode", "MEAN"}}), 100),
        network("MeanOfVirtual", on_plane({{"probe_layer", "virtual"}, {"pooling_mode", "MEAN"}}),
                100),
        network("AllNodes", on_plane({{"probe_layer", "all"}, {"num_classes", 2}}), 100),
        network("VirtualNodes", on_plane({{"probe_layer", "virtual"}}), 100),
        network("LineOfCells", on_plane({{"tree", "sequence"}, {"virtual_pos_encodings", "sin"}}),
                50),
        // One class: of three, one has a score near zero, which has no relative accuracy.
        network("Tokens", of_tokens({{"num_classes", 1}}), 50),
        network("TokensEach", of_tokens({{"pooling_mode", "NONE"}}), 64),
    };
    for (NetworkCase& c : list) {
        c.is_divided = c.name == "SixteenChildren";
        c.n_failing_in_turn = 40;
    }
    return list;
}

FamilyCase make_sequoia() {
    FamilyCase sequoia = point_family("Sequoia");
    sequoia.networks = networks();
    sequoia.modes.front().tolerance = 0;
    refuse_points(sequoia, "Fourier");
    const std::vector<RefusedPlan> refused = {
        {"OnTheSphere", "Tokens", {}, a_sphere, SURROGATE_NOT_SUPPORTED, "scattered points"},
        {"OfASequenceWithoutIds",
         "Tokens",
         {},
         some_points(5, 0, {}),
         SURROGATE_INVALID_ARGUMENT,
         "ascending along the sequence"},
        {"OfASequenceThatIsTooLong",
         "Tokens",
         {},
         some_points(65, 0, {}),
         SURROGATE_SHAPE,
         "max_seq_len = 64"},
    };
    refuse(sequoia, refused);
    return sequoia;
}

const FamilyCase& sequoia_case() {
    static const FamilyCase sequoia = make_sequoia();
    return sequoia;
}

[[maybe_unused]] const bool is_listed = add_family(sequoia_case);

}  // namespace
}  // namespace surrogate::test
