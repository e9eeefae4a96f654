// SPDX-License-Identifier: Apache-2.0
#include "tests/libsurrogate/conformance/point_family.hpp"

#include "tests/libsurrogate/conformance/point_share.hpp"
#include "tests/support/sphere_models.hpp"

namespace surrogate::test {

using nlohmann::json;

FamilyCase point_family(const std::string& name) {
    FamilyCase family{.name = name};
    family.modes = {{"Fast", {}, 1e-5},
                    {"Reproducible", {{"reproducible", "true"}}, 0},
                    {"Double", {{"precision", "fp64"}}, 1e-12}};
    family.partitions = {"contiguous", "scattered", "uneven", "first", "middle", "last"};
    family.share = share_of_points;
    family.refused_plans = {
        {"WithTwoDomains", "Fields", {}, two_sets, SURROGATE_NOT_SUPPORTED, "expected the same"}};
    return family;
}

void refuse(FamilyCase& family, const std::vector<RefusedPlan>& plans) {
    family.refused_plans.insert(family.refused_plans.end(), plans.begin(), plans.end());
}

void refuse_points(FamilyCase& family, const std::string& network) {
    refuse(family, {{"WithTooFewCoordinates",
                     network,
                     {},
                     some_points(5, 1, {}),
                     SURROGATE_SHAPE,
                     "1 coordinates"},
                    {"WithAPointGivenTwice",
                     network,
                     {},
                     some_points(3, 2, {7, 8, 7}),
                     SURROGATE_INVALID_ARGUMENT,
                     "global id 7"}});
}

json field(const std::string& name, double mean, double std) {
    return {{"name", name}, {"unit", ""}, {"mean", mean}, {"std", std}};
}

json fields_on_square() {
    json inputs = {field("x", 0.5, 0.3), field("y", 0.5, 0.3), field("a", 7.5, 4.5),
                   field("b", -1, 0.25)};
    for (size_t axis = 0; axis < 2; ++axis)
        inputs[axis].update({{"role", "coordinate"}, {"axis", axis}});
    return inputs;
}

std::function<std::shared_ptr<const std::string>()> filled(const json& card, Fill fill) {
    return [card, fill] {
        const auto disk = std::make_shared<const ModelOnDisk>(fill(card).bytes());
        return std::shared_ptr<const std::string>(disk, &disk->path());
    };
}

NetworkCase network_case(const std::string& name, const json& card, Fill fill, int64_t n_point) {
    return {.name = name,
            .file = filled(card, fill),
            .has_fields = card.contains("inputs"),
            .n_point = n_point};
}

}  // namespace surrogate::test
