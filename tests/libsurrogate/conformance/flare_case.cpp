// SPDX-License-Identifier: Apache-2.0
// FLARE as the laws see it: any points, known by their ids.
#include <cmath>
#include <numeric>

#include "tests/libsurrogate/conformance/family_case.hpp"
#include "tests/support/darcy_case.hpp"
#include "tests/support/small_darcy_model.hpp"

namespace surrogate::test {
namespace {

std::vector<int64_t> rows_of(const std::string& partition, int64_t n, int rank, int size) {
    if (partition == "first") return first_rows(rank == 0 ? n : 0);
    if (partition == "middle") return first_rows(rank == size / 2 ? n : 0);
    if (partition == "last") return first_rows(rank == size - 1 ? n : 0);
    int64_t n_own = 0;
    check(surrogate_partition(partition.c_str(), n, rank, size, nullptr, &n_own));
    std::vector<int64_t> rows(static_cast<size_t>(n_own));
    check(surrogate_partition(partition.c_str(), n, rank, size, rows.data(), &n_own));
    return rows;
}

Share flare_share(const surrogate_domain_info&, int64_t n_point, const std::string& partition,
                  int rank, int size) {
    const auto points = std::make_shared<DarcyCase>(rows_of(partition, n_point, rank, size));
    Share share{.points = points->ids, .places = first_rows(points->n()), .n_place = points->n()};
    share.create = [points](surrogate_context* context, surrogate_domain** domain) {
        const surrogate_points given = points->points();
        return surrogate_domain_create_points(context, &given, domain);
    };
    share.name_of = [points](size_t i) { return "id " + std::to_string(points->ids[i]); };
    return share;
}

std::string data(const std::string& name) {
    return SURROGATE_TEST_DATA "/flare/" + name + ".safetensors";
}

/// A file that is there already.
auto stored(const std::string& path) {
    return [path] { return std::make_shared<const std::string>(path); };
}

std::shared_ptr<const std::string> small_model() {
    return std::make_shared<const std::string>(small_darcy_model());
}

/// `n` points with so many coordinates each, and ids if they are given.
auto some_points(int64_t n, int64_t n_axis, const std::vector<int64_t>& ids) {
    return [=](surrogate_context* context, surrogate_domain** input, surrogate_domain**) {
        const DarcyCase points(first_rows(n));
        const surrogate_points given{matrix(points.x.data(), n, n_axis),
                                     ids.empty() ? nullptr : ids.data(), nullptr, nullptr};
        return surrogate_domain_create_points(context, &given, input);
    };
}

surrogate_status two_sets(surrogate_context* context, surrogate_domain** input,
                          surrogate_domain** output) {
    check(some_points(5, 2, {})(context, input, output));
    return some_points(5, 2, {})(context, output, nullptr);
}

surrogate_status a_sphere(surrogate_context* context, surrogate_domain** input,
                          surrogate_domain**) {
    surrogate_sphere sphere{};
    sphere.grid = "equiangular";
    sphere.n_lat = 8;
    sphere.n_lon = sphere.n_lon_local = 16;
    int32_t rank = 0, size = 0;
    check(surrogate_context_rank(context, &rank, &size));
    sphere.n_lat_local = rank == 0 ? 8 : 0;
    return surrogate_domain_create_sphere(context, &sphere, input);
}

const OptionList reproducible = {{"reproducible", "true"}};

FamilyCase make_flare() {
    FamilyCase flare{.name = "Flare"};
    flare.networks = {
        {.name = "TwoBlocksOfPoints",
         .file = small_model,
         .has_fields = true,
         .is_divided = true,
         .n_point = 1500},
        // Fewer points than the model has latents.
        {.name = "Darcy", .file = stored(darcy_model), .has_fields = true, .n_point = 60},
        {.name = "Fields",
         .file = small_model,
         .has_fields = true,
         .is_small = true,
         .n_point = 60},
        {.name = "NoPoint", .file = small_model, .has_fields = true, .n_point = 0},
        {.name = "OnePoint", .file = small_model, .has_fields = true, .n_point = 1},
        {.name = "TwoPoints", .file = small_model, .has_fields = true, .n_point = 2},
        {.name = "Tiny", .file = stored(data("tiny")), .is_small = true, .n_point = 20},
        {.name = "EveryOption",
         .file = stored(data("tiny_options")),
         .is_small = true,
         .n_point = 20},
        {.name = "TwoOutputs", .file = stored(data("odd")), .n_point = 130},
        {.name = "ChainsOfAllDepths", .file = stored(data("layers")), .n_point = 57},
    };
    for (NetworkCase& network : flare.networks) network.n_failing_in_turn = 1000;  // all
    flare.modes = {{"Fast", {}, 1e-5},
                   {"Reproducible", reproducible, 0},
                   {"Double", {{"precision", "fp64"}}, 1e-12}};
    flare.partitions = {"contiguous", "scattered", "uneven", "first", "middle", "last"};
    flare.share = flare_share;
    for (const char* name : {"tiny", "tiny_options", "odd", "mid", "layers"})
        flare.goldens.push_back({name, data(name), 1e-12});
    flare.refused_plans = {
        {"OnTheSphere", "Fields", {}, a_sphere, SURROGATE_NOT_SUPPORTED, "scattered points"},
        {"WithTwoDomains", "Fields", {}, two_sets, SURROGATE_NOT_SUPPORTED, "must be the same"},
        {"WithTooFewCoordinates",
         "Darcy",
         {},
         some_points(5, 1, {}),
         SURROGATE_SHAPE,
         "1 coordinates"},
        {"WithoutIdsAndCoordinates", "Tiny", reproducible, some_points(5, 0, {}),
         SURROGATE_INVALID_ARGUMENT, "give the domain global ids or coordinates"},
        {"WithAPointGivenTwice", "Tiny", reproducible, some_points(3, 2, {7, 8, 7}),
         SURROGATE_INVALID_ARGUMENT, "global id 7"},
    };
    return flare;
}

const FamilyCase& flare_case() {
    static const FamilyCase flare = make_flare();
    return flare;
}

[[maybe_unused]] const bool is_listed = add_family(flare_case);

}  // namespace
}  // namespace surrogate::test
