// SPDX-License-Identifier: Apache-2.0
// Sequoia as the laws see it: points of a square with fields, and sequences by ids.
#include "tests/support/sequoia_case.hpp"

#include "tests/libsurrogate/conformance/family_case.hpp"
#include "tests/libsurrogate/conformance/point_share.hpp"
#include "tests/support/sphere_models.hpp"

namespace surrogate::test {
namespace {

using nlohmann::json;

json coordinate(const std::string& name, int axis) {
    return {{"name", name}, {"role", "coordinate"}, {"axis", axis},
            {"unit", ""},   {"mean", 0.5},          {"std", 0.3}};
}

json field(const std::string& name, double mean, double std) {
    return {{"name", name}, {"unit", ""}, {"mean", mean}, {"std", std}};
}

/// From two fields at points to one.
json with_fields(const json& changes = json::object()) {
    const json network = small_sequoia({{"pos_enc", "none"}, {"dimensionality", 2}, {"c_in", 2}});
    return {{"format", 1},
            {"family", "sequoia"},
            {"network", changed(network, changes)},
            {"inputs",
             {coordinate("x", 0), coordinate("y", 1), field("a", 7.5, 4.5), field("b", -1, 0.25)}},
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
    NetworkCase c{.name = name, .has_fields = card.contains("inputs"), .n_point = n_point};
    c.file = [card] {
        const auto disk = std::make_shared<const ModelOnDisk>(sphere_model(card).bytes());
        return std::shared_ptr<const std::string>(disk, &disk->path());
    };
    return c;
}

NetworkCase small(NetworkCase c) {
    c.is_small = true;
    return c;
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
    const OptionList reproducible = {{"reproducible", "true"}};
    FamilyCase sequoia{.name = "Sequoia"};
    sequoia.networks = networks();
    sequoia.modes = {{"Fast", {}, 0},
                     {"Reproducible", reproducible, 0},
                     {"Double", {{"precision", "fp64"}}, 1e-12}};
    sequoia.partitions = {"contiguous", "scattered", "uneven", "first", "middle", "last"};
    sequoia.share = share_of_points;
    sequoia.refused_plans = {
        {"OnTheSphere", "Tokens", {}, a_sphere, SURROGATE_NOT_SUPPORTED, "scattered points"},
        {"WithTwoDomains", "Fields", {}, two_sets, SURROGATE_NOT_SUPPORTED, "must be the same"},
        {"WithTooFewCoordinates",
         "Fourier",
         {},
         some_points(5, 1, {}),
         SURROGATE_SHAPE,
         "1 coordinates"},
        {"WithAPointGivenTwice",
         "Fourier",
         {},
         some_points(3, 2, {7, 8, 7}),
         SURROGATE_INVALID_ARGUMENT,
         "global id 7"},
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
    return sequoia;
}

const FamilyCase& sequoia_case() {
    static const FamilyCase sequoia = make_sequoia();
    return sequoia;
}

[[maybe_unused]] const bool is_listed = add_family(sequoia_case);

}  // namespace
}  // namespace surrogate::test
