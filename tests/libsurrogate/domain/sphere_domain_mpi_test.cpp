// SPDX-License-Identifier: Apache-2.0
// Grids on the sphere as solvers keep them: the prediction at each point is bitwise identical;
// invalid grids are rejected on all ranks with the same text.
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/ranks.hpp"
#include "tests/support/sphere_case.hpp"
#include "tests/support/sphere_models.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

const Options reproducible{{"reproducible", "true"}, {"threads", "1"}};

// ---- layouts ----

class SphereDomainLayout : public testing::TestWithParam<SphereLayout> {
protected:
    void expect_as_plain(const ModelOnDisk& file) {
        const Model model(context, file.path());
        const auto inputs = wave_inputs(model);
        const std::vector<double> plain = evaluate(file.path(), inputs, reproducible);
        SphereRun run(context, model, GetParam(), reproducible);
        run.fill(inputs);
        EXPECT_EQ(run.run_network(), SURROGATE_SUCCESS);
        EXPECT_EQ(run.result().points(), run.result().points_of(plain));
        for (const auto& fields : run.fields) EXPECT_TRUE(fields.has_clean_ghosts());
    }

    Context context = mpi_context(world);
};

TEST_P(SphereDomainLayout, OfAModelPredictsAsThePlainOne) {
    expect_as_plain(ModelOnDisk(small_transformer()));
}

TEST_P(SphereDomainLayout, OfALayerBetweenTwoGridsPredictsAsThePlainOne) {
    expect_as_plain(ModelOnDisk(changed(small_attention(), {{"out_shape", {9, 12}}})));
    expect_as_plain(ModelOnDisk(changed(small_attention(), {{"out_shape", {9, 48}}})));
}

TEST_P(SphereDomainLayout, OfAnOddNumberOfLongitudesPredictsAsThePlainOne) {
    expect_as_plain(
        ModelOnDisk(changed(small_attention(), {{"in_shape", {9, 21}}, {"out_shape", {9, 21}}})));
    expect_as_plain(
        ModelOnDisk(changed(small_resampling(), {{"in_shape", {7, 9}}, {"out_shape", {10, 15}}})));
}

TEST_P(SphereDomainLayout, OfBoundFieldsPredictsAsThePlainOne) {
    const ModelOnDisk file(small_transformer(), 3, 3);
    const Model model(context, file.path());
    const auto inputs = wave_inputs(model);
    const auto predict = [&](const Context& ranks, const SphereLayout& layout) {
        const Model loaded(ranks, file.path());
        SphereRun run(ranks, loaded, layout, reproducible);
        run.fill(inputs);
        run.bind();
        check(run.run());
        return run.result().points();
    };
    const Context self;
    const std::vector<double> plain = predict(self, {});
    // Points of the plain run stand in the order of the model's grid, channels last.
    SphereRun here(context, model, GetParam(), reproducible);
    std::vector<double> whole(plain.size());
    const size_t n_point = plain.size() / 3;
    for (size_t p = 0; p < n_point; ++p)
        for (size_t c = 0; c < 3; ++c) whole[c * n_point + p] = plain[p * 3 + c];
    EXPECT_EQ(predict(context, GetParam()), here.result().points_of(whole));
}

INSTANTIATE_TEST_SUITE_P(Layouts, SphereDomainLayout,
                         testing::Values(SphereLayout{.name = "Bands"},
                                         SphereLayout{.name = "UnevenBands", .partition = "uneven"},
                                         SphereLayout{.name = "Blocks", .partition = "scattered"},
                                         SphereLayout{.name = "SouthFirst", .south_first = true},
                                         SphereLayout{.name = "Shifted", .shift = 5},
                                         SphereLayout{.name = "ShiftedBlocksSouthFirst",
                                                      .partition = "scattered",
                                                      .south_first = true,
                                                      .shift = 10},
                                         SphereLayout{.name = "NodesGiven",
                                                      .partition = "scattered",
                                                      .south_first = true,
                                                      .shift = 3,
                                                      .with_nodes = true},
                                         SphereLayout{.name = "Ghosts", .ghosts = 2},
                                         SphereLayout{.name = "FortranWithGhosts",
                                                      .partition = "scattered",
                                                      .south_first = true,
                                                      .shift = 1,
                                                      .ghosts = 1,
                                                      .is_latitude_fastest = true},
                                         SphereLayout{.name = "LatitudeFastest",
                                                      .is_latitude_fastest = true}),
                         [](const auto& layout) { return layout.param.name; });

// ---- errors ----

/// A grid of 8 x 16 in bands of 8 / size rows, to be spoilt.
class SphereDomain : public testing::Test {
protected:
    SphereDomain() {
        int64_t block[4];
        check(surrogate_partition_sphere("contiguous", 8, 16, rank, size, block));
        sphere.grid = "equiangular";
        sphere.n_lat = 8;
        sphere.n_lon = sphere.n_lon_local = 16;
        sphere.first_lat = block[0];
        sphere.n_lat_local = block[1];
        for (int64_t i = 0; i < 8; ++i) latitude.push_back(90 - 180.0 / 7 * static_cast<double>(i));
        for (int64_t j = 0; j < 16; ++j) longitude.push_back(22.5 * static_cast<double>(j));
        own_latitude.assign(latitude.begin() + block[0], latitude.begin() + block[0] + block[1]);
    }

    Answer create(surrogate_domain** domain = nullptr) {
        surrogate_domain* made = nullptr;
        const Answer found = answer(surrogate_domain_create_sphere(context.get(), &sphere, &made));
        EXPECT_EQ(made == nullptr, found.status != SURROGATE_SUCCESS);
        EXPECT_EQ(found, answer_of_rank_0(found, world));
        EXPECT_TRUE(ranks_still_talk(world));
        if (domain) {
            *domain = made;
        } else {
            surrogate_domain_destroy(&made);
        }
        return found;
    }
    void expect_refused(surrogate_status status, const std::vector<std::string>& parts) {
        const Answer found = create();
        EXPECT_EQ(found.status, status) << found;
        for (const std::string& part : parts)
            EXPECT_TRUE(found.says(part)) << part << ": " << found;
    }

    const int rank = rank_of(world), size = size_of(world);
    const bool is_last = rank == size - 1;
    const std::string last = std::to_string(size - 1);
    Context context = mpi_context(world);
    surrogate_sphere sphere{};
    std::vector<double> latitude, longitude, own_latitude;
};

TEST_F(SphereDomain, OfWholeStepsFromAnywhereIsTaken) {
    for (const double first : {0.0, -180.0, 22.5, 337.5, 720.0, -22.5}) {
        sphere.first_longitude = first;
        EXPECT_EQ(create().status, SURROGATE_SUCCESS) << first;
    }
    for (double& l : longitude) l -= 180;
    sphere.longitude = longitude.data();
    sphere.latitude = own_latitude.data();
    EXPECT_EQ(create().status, SURROGATE_SUCCESS);
}

TEST_F(SphereDomain, CountsItsPoints) {
    surrogate_domain* domain = nullptr;
    create(&domain);
    int64_t n_local = 0, n_global = 0;
    check(surrogate_domain_n_points(domain, &n_local, &n_global));
    EXPECT_EQ(n_local, sphere.n_lat_local * 16);
    EXPECT_EQ(n_global, 128);
    surrogate_domain_destroy(&domain);
}

TEST_F(SphereDomain, AtHalfStepsIsRefusedByThePlanWithBothLists) {
    const ModelOnDisk file(
        changed(small_attention(), {{"in_shape", {8, 16}}, {"out_shape", {8, 16}}}));
    const Model model(context, file.path());
    for (const bool by_list : {false, true}) {
        sphere.first_longitude = 11.25;
        for (size_t j = 0; j < 16; ++j) longitude[j] = 11.25 + 22.5 * static_cast<double>(j);
        sphere.longitude = by_list ? longitude.data() : nullptr;
        surrogate_domain* domain = nullptr;
        EXPECT_EQ(create(&domain).status, SURROGATE_SUCCESS);
        surrogate_plan* plan = nullptr;
        const Answer found =
            answer(surrogate_plan_create(model.get(), domain, nullptr, nullptr, &plan));
        EXPECT_EQ(found.status, SURROGATE_INVALID_ARGUMENT);
        EXPECT_TRUE(found.says("11.25, 33.75") && found.says("0, 22.5")) << found;
        EXPECT_EQ(found, answer_of_rank_0(found, world));
        EXPECT_EQ(plan, nullptr);
        surrogate_domain_destroy(&domain);
    }
}

TEST_F(SphereDomain, WithWrongLatitudesIsRefusedWithBothLists) {
    // Cell centers instead of nodes with poles.
    std::vector<double> centres;
    for (int64_t i = 0; i < sphere.n_lat_local; ++i)
        centres.push_back(90 - 22.5 * (static_cast<double>(sphere.first_lat + i) + 0.5));
    sphere.latitude = centres.data();
    expect_refused(SURROGATE_INVALID_ARGUMENT,
                   {"equiangular grid of 8 rows", "78.75", "90, 64.28571"});
}

TEST_F(SphereDomain, OfRowsUpsideDownOnOneRankIsRefused) {
    if (size == 1) GTEST_SKIP() << "ranks that differ: needs two";
    sphere.south_to_north = is_last;
    expect_refused(SURROGATE_INVALID_ARGUMENT,
                   {"from north to south", "from south to north", "0 and " + last});
}

TEST_F(SphereDomain, OfDifferentOriginsIsRefused) {
    if (size == 1) GTEST_SKIP() << "ranks that differ: needs two";
    sphere.first_longitude = is_last ? 22.5 : 0;
    expect_refused(SURROGATE_INVALID_ARGUMENT, {"longitude 0", "22.5", "rank " + last});
}

TEST_F(SphereDomain, OfDifferentGridsIsRefused) {
    if (size == 1) GTEST_SKIP() << "ranks that differ: needs two";
    if (is_last) sphere.grid = "lobatto";
    expect_refused(SURROGATE_INVALID_ARGUMENT,
                   {"ranks 0 and " + last, "equiangular 8 x 16", "lobatto 8 x 16"});
    sphere.grid = "equiangular";
    if (is_last) sphere.n_lon = 32;
    expect_refused(SURROGATE_INVALID_ARGUMENT, {"8 x 16", "8 x 32"});
}

TEST_F(SphereDomain, WithOverlapIsRefusedNamingTheRanks) {
    if (size == 1) GTEST_SKIP() << "ranks that differ: needs two";
    if (is_last) {
        sphere.first_lat -= 1;
        sphere.n_lat_local += 1;
    }
    expect_refused(SURROGATE_INVALID_ARGUMENT,
                   {"overlap", std::to_string(size - 2) + " and " + last});
}

TEST_F(SphereDomain, WithHolesIsRefusedNamingThem) {
    if (is_last) sphere.n_lat_local -= 1;
    expect_refused(SURROGATE_INVALID_ARGUMENT, {"row 7 to none"});
}

TEST_F(SphereDomain, WithCoordinatesThatAreNoNumbersIsRefused) {
    if (rank == 0) own_latitude[0] = NAN;
    sphere.latitude = own_latitude.data();
    expect_refused(SURROGATE_NOT_FINITE, {"latitude 0", "nan"});
    sphere.latitude = nullptr;
    if (rank == 0) longitude[3] = INFINITY;
    sphere.longitude = longitude.data();
    expect_refused(SURROGATE_NOT_FINITE, {"longitude 3", "inf"});
    sphere.longitude = nullptr;
    sphere.first_longitude = rank == 0 ? NAN : 0;
    expect_refused(SURROGATE_NOT_FINITE, {"first_longitude", "nan"});
}

TEST_F(SphereDomain, WithDenormalsForZeroIsTaken) {
    const double tiny = std::numeric_limits<double>::denorm_min();
    longitude[0] = tiny;
    sphere.longitude = longitude.data();
    EXPECT_EQ(create().status, SURROGATE_SUCCESS);
    longitude[0] = -tiny;
    EXPECT_EQ(create().status, SURROGATE_SUCCESS);
    sphere.longitude = nullptr;
    sphere.first_longitude = -tiny;
    EXPECT_EQ(create().status, SURROGATE_SUCCESS);
}

TEST_F(SphereDomain, WithLongitudesThatDoNotAscendEvenlyIsRefused) {
    std::swap(longitude[4], longitude[5]);
    sphere.longitude = longitude.data();
    expect_refused(SURROGATE_INVALID_ARGUMENT, {"equal steps upward", "22.5"});
}

TEST_F(SphereDomain, WithBadCountsAndStepsIsRefused) {
    const surrogate_sphere good = sphere;
    struct Spoiled {
        std::function<void()> spoil;
        surrogate_status status;
        std::string text;
    };
    const Spoiled cases[] = {
        {[&] { sphere.grid = nullptr; }, SURROGATE_INVALID_ARGUMENT, "NULL"},
        {[&] { sphere.grid = "equianglar"; }, SURROGATE_INVALID_ARGUMENT, "equianglar"},
        {[&] { sphere.n_lat = 1; }, SURROGATE_SHAPE, "2 .. 2^24 rows"},
        {[&] { sphere.n_lon = 0; }, SURROGATE_SHAPE, "1 .. 2^24 columns"},
        {[&] { sphere.n_lon = int64_t{1} << 60; }, SURROGATE_SHAPE, "points"},
        {[&] { sphere.first_lat = -1; }, SURROGATE_SHAPE, "rows -1 "},
        {[&] { sphere.n_lat_local = 100; }, SURROGATE_SHAPE, " + 100"},
        {[&] { sphere.n_lat_local = std::numeric_limits<int64_t>::max(); }, SURROGATE_SHAPE,
         "no block"},
        {[&] { sphere.n_lon_local = -3; }, SURROGATE_SHAPE, " + -3"},
        {[&] {
             sphere.lat_stride = 8;
             sphere.lon_stride = 1;
         },
         SURROGATE_SHAPE, "steps 8 and 1"},
        {[&] {
             sphere.lat_stride = 0;
             sphere.lon_stride = 1;
         },
         SURROGATE_SHAPE, "share memory"},
        {[&] { sphere.lon_stride = std::numeric_limits<int64_t>::max(); }, SURROGATE_SHAPE, "2^38"},
        {[&] { sphere.lat_stride = std::numeric_limits<int64_t>::min(); }, SURROGATE_SHAPE, "2^38"},
        {[&] { sphere.south_to_north = 2; }, SURROGATE_INVALID_ARGUMENT, "south_to_north is 2"},
    };
    for (const Spoiled& spoiled : cases) {
        sphere = good;
        if (rank == 0) spoiled.spoil();  // rank 0 owns at least two rows
        expect_refused(spoiled.status, {spoiled.text});
    }
    surrogate_domain* domain = nullptr;
    const Answer null = answer(surrogate_domain_create_sphere(context.get(), nullptr, &domain));
    EXPECT_EQ(null.status, SURROGATE_INVALID_ARGUMENT);
    EXPECT_TRUE(null.says("NULL")) << null;
}

TEST_F(SphereDomain, MayLieOnOneRank) {
    const ModelOnDisk file(
        changed(small_attention(), {{"in_shape", {8, 16}}, {"out_shape", {8, 16}}}));
    const Model model(context, file.path());
    const auto inputs = wave_inputs(model);
    const std::vector<double> plain = evaluate(file.path(), inputs, reproducible);
    for (int owner = 0; owner < size; ++owner) {
        sphere.first_lat = 0;
        sphere.n_lat_local = rank == owner ? 8 : 0;
        const Domain domain(context, sphere);
        Plan plan(model, domain, reproducible);
        const int64_t n = rank == owner ? 128 : 0;
        std::vector<float> x = inputs[0], y(static_cast<size_t>(4 * n));
        surrogate_array in = matrix(x.data(), n, 4), out = matrix(y.data(), n, 4);
        in.stride[0] = out.stride[0] = 1;
        in.stride[1] = out.stride[1] = 128;
        plan.run_network({{"x", in}}, {{"y", out}});
        if (rank == owner) {
            EXPECT_EQ(std::vector<double>(y.begin(), y.end()), plain);
        }
    }
}

// ---- models and domains that do not fit ----

class SphereDomainMismatch : public SphereDomain {
protected:
    void expect_plan_refused(const Model& model, const Domain& in, const Domain& out,
                             surrogate_status status, const std::vector<std::string>& parts) {
        surrogate_plan* plan = nullptr;
        const Answer found =
            answer(surrogate_plan_create(model.get(), in.get(), out.get(), nullptr, &plan));
        EXPECT_EQ(found.status, status) << found;
        for (const std::string& part : parts)
            EXPECT_TRUE(found.says(part)) << part << ": " << found;
        EXPECT_EQ(found, answer_of_rank_0(found, world));
        EXPECT_EQ(plan, nullptr);
    }
    Domain scattered_points() {
        std::vector<double> x(6, 0.5);
        return {context, matrix(x.data(), 2, 3)};
    }
};

TEST_F(SphereDomainMismatch, OfGridsIsRefusedWithBoth) {
    const ModelOnDisk file(
        changed(small_attention(), {{"out_shape", {8, 16}}, {"in_shape", {8, 32}}}));
    const Model model(context, file.path());
    const Domain domain(context, sphere);
    expect_plan_refused(model, domain, domain, SURROGATE_SHAPE,
                        {"input domain", "8 x 16", "8 x 32"});
    sphere.n_lon = sphere.n_lon_local = 32;
    const Domain input(context, sphere);
    expect_plan_refused(model, input, input, SURROGATE_SHAPE,
                        {"output domain", "8 x 16", "8 x 32"});
    sphere.grid = "legendre-gauss";
    const Domain gauss(context, sphere);
    expect_plan_refused(model, gauss, domain, SURROGATE_SHAPE, {"legendre-gauss", "equiangular"});
    EXPECT_NO_THROW(Plan(model, input, domain));
}

TEST_F(SphereDomainMismatch, OfScatteredPointsAndASphereIsRefused) {
    const ModelOnDisk file(
        changed(small_attention(), {{"in_shape", {8, 16}}, {"out_shape", {8, 16}}}));
    const Model model(context, file.path());
    const Domain points = scattered_points(), grid(context, sphere);
    expect_plan_refused(model, points, points, SURROGATE_NOT_SUPPORTED,
                        {"on the sphere", "scattered points"});
    expect_plan_refused(model, grid, points, SURROGATE_NOT_SUPPORTED,
                        {"on the sphere", "scattered points"});
}

TEST_F(SphereDomainMismatch, OfASphereAndAModelOfPointsIsRefused) {
    const Model model(context, SURROGATE_SHARE "/models/darcy_flow.safetensors");
    const Domain grid(context, sphere);
    expect_plan_refused(model, grid, grid, SURROGATE_NOT_SUPPORTED, {"points"});
}

}  // namespace
}  // namespace surrogate::test
