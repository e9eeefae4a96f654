// SPDX-License-Identifier: Apache-2.0
// Erwin's U-net as the laws see it: points of a square with fields, and edges between them.
#include "tests/libsurrogate/conformance/point_family.hpp"
#include "tests/libsurrogate/conformance/point_share.hpp"
#include "tests/support/bsa_models.hpp"
#include "tests/support/sphere_models.hpp"

namespace surrogate::test {
namespace {

using nlohmann::json;

/// Two levels; from two fields at points to six.
json card_of(const json& changes = json::object()) {
    const json network = {{"c_in", 2},
                          {"c_hidden", {6, 8}},
                          {"ball_sizes", {16, 8}},
                          {"enc_num_heads", {2, 1}},
                          {"enc_depths", {2, 2}},
                          {"dec_num_heads", {3}},
                          {"dec_depths", {2}},
                          {"strides", {2}},
                          {"rotate", 45},
                          {"mlp_ratio", 2},
                          {"dimensionality", 2},
                          {"mp_steps", 2}};
    return {{"format", 1}, {"family", "erwin"}, {"network", changed(network, changes)}};
}

json with_fields() {
    json card = card_of();
    card["inputs"] = fields_on_square();
    for (const char* name : {"u", "v", "w", "p", "q", "r"})
        card["outputs"].push_back(field(name, 0.01, 0.004));
    return card;
}

NetworkCase network(const std::string& name, const json& card, int64_t n_point) {
    NetworkCase c = network_case(name, card, bsa_model, n_point);
    c.n_failing_in_turn = 40;
    return c;
}

std::vector<NetworkCase> networks() {
    std::vector<NetworkCase> list = {
        network("Fields", with_fields(), 60),
        network("NoPoint", with_fields(), 0),
        network("OnePoint", with_fields(), 1),
        network("ThreePoints", with_fields(), 3),
        network("ManyPoints", card_of({{"ball_sizes", {64, 128}}}), 1500),
        network("OneLevel",
                card_of({{"c_hidden", {6}},
                         {"ball_sizes", {16}},
                         {"enc_num_heads", {2}},
                         {"enc_depths", {3}},
                         {"dec_num_heads", nullptr},
                         {"dec_depths", nullptr},
                         {"strides", nullptr}}),
                70),
        network("NothingPooled", card_of({{"c_hidden", {6, 6}}, {"strides", {1}}}), 100),
        network("FourChildren", card_of({{"strides", {4}}, {"rotate", 0}}), 100),
        network("NoMessages", card_of({{"mp_steps", 0}}), 100),
    };
    list.front().is_small = true;
    list[4].is_divided = true;
    return list;
}

/// share_of_points, and edges to each point from its neighbors by number and from one far away. The
/// rank of the target gives them.
Share share_with_edges(const surrogate_domain_info& info, int64_t n_point,
                       const std::string& partition, int rank, int size) {
    Share share = share_of_points(info, n_point, partition, rank, size);
    std::vector<int64_t> source, target;
    for (const int64_t point : share.points)
        for (const int64_t from : {point, point + 1, point + n_point - 1, 7 * point + 3}) {
            source.push_back(from % n_point);
            target.push_back(point);
        }
    // The call takes no memory of its own: laws let the library's run out.
    share.create = [source, target, create = share.create](surrogate_context* context,
                                                           surrogate_domain** domain) {
        const surrogate_status status = create(context, domain);
        if (status != SURROGATE_SUCCESS) return status;
        const surrogate_status found =
            surrogate_domain_set_edges(*domain, std::ssize(source), source.data(), target.data());
        if (found != SURROGATE_SUCCESS) surrogate_domain_destroy(domain);
        return found;
    };
    return share;
}

/// The official models: features and head, and messages from the nearest points.
json whole(const json& changes = json::object()) {
    return card_of(changed({{"c_out", 2}, {"neighbors", 4}}, changes));
}

FamilyCase make_erwin_model() {
    FamilyCase erwin = point_family("ErwinModel");
    json fields = whole();
    fields["inputs"] = fields_on_square();
    fields["outputs"] = {field("u", 0.01, 0.004), field("v", 0.01, 0.004)};
    erwin.networks = {
        small(network("Fields", fields, 60)),
        network("NoPoint", fields, 0),
        network("ThreePoints", fields, 3),
        network("ManyPoints", whole({{"ball_sizes", {64, 128}}}), 1500),
        network("Fourier", whole({{"pos_enc", "fourier"}, {"strides", {4}}}), 100),
        network("Linear", whole({{"pos_enc", "linear"}, {"neighbors", 1}}), 82),
    };
    erwin.networks[3].is_divided = true;
    refuse_points(erwin, "Fourier");
    return erwin;
}

const FamilyCase& erwin_model_case() {
    static const FamilyCase erwin = make_erwin_model();
    return erwin;
}

FamilyCase make_erwin() {
    FamilyCase erwin = point_family("Erwin");
    erwin.networks = networks();
    erwin.share = share_with_edges;
    const std::vector<RefusedPlan> refused = {
        {"OnTheSphere", "ManyPoints", {}, a_sphere, SURROGATE_SHAPE, "2 coordinates of each point"},
        {"WithoutEdges",
         "ManyPoints",
         {},
         some_points(5, 2, {}),
         SURROGATE_INVALID_ARGUMENT,
         "set them with surrogate_domain_set_edges"},
    };
    refuse(erwin, refused);
    return erwin;
}

const FamilyCase& erwin_case() {
    static const FamilyCase erwin = make_erwin();
    return erwin;
}

[[maybe_unused]] const bool is_listed = add_family(erwin_case) && add_family(erwin_model_case);

}  // namespace
}  // namespace surrogate::test
