// SPDX-License-Identifier: Apache-2.0
// Scattered points: coordinates, clouds and weights as given, and what any rank has wrong.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/support/darcy_case.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

/// Four points a rank in eight dimensions; cloud and weight by rank.
class PointDomains : public testing::Test {
protected:
    PointDomains() {
        for (int i = 0; i < 32; ++i) x.push_back(100 * context.rank() + i);
        clouds.assign(4, context.rank());
        weights = {0, 0.5, 1, 1e300};
        points = {matrix(x.data(), 4, 8), nullptr, clouds.data(), weights.data()};
    }
    bool is(int rank) const { return context.rank() == rank; }
    int last() const { return context.size() - 1; }

    Answer create(const surrogate_points& given) {
        surrogate_domain* domain = nullptr;
        const Answer found = answer(surrogate_domain_create_points(context.get(), &given, &domain));
        EXPECT_EQ(domain == nullptr, found.status != SURROGATE_SUCCESS);
        surrogate_domain_destroy(&domain);
        EXPECT_EQ(found, answer_of_rank_0(found, world));
        return found;
    }
    /// Every rank in turn has the number `bad` in an array where the others have a good one.
    template <class T>
    void expect_refused(std::vector<T>& array, T bad, surrogate_status status, const char* part) {
        for (int culprit = 0; culprit <= last(); ++culprit) {
            const T good = array[2];
            if (is(culprit)) array[2] = bad;
            const Answer found = create(points);
            EXPECT_EQ(found.status, status) << found;
            EXPECT_TRUE(found.says(part)) << found;
            EXPECT_TRUE(found.says("local point 2")) << found;
            array[2] = good;
        }
        EXPECT_EQ(create(points).status, SURROGATE_SUCCESS);
    }

    const Context context = mpi_context(world);
    std::vector<double> x, weights;  // (4, 8), (4)
    std::vector<int64_t> clouds;     // (4)
    surrogate_points points{};
};

TEST_F(PointDomains, KeepWhatTheyAreGiven) {
    const Domain domain(context, points);
    EXPECT_EQ(domain.n_local(), 4);
    EXPECT_EQ(domain.n_global(), 4 * context.size());
    EXPECT_EQ(domain.n_clouds(), context.size());
    const surrogate_points kept = domain.points();
    EXPECT_EQ(kept.x.shape[0], 4);
    EXPECT_EQ(kept.x.shape[1], 8);
    ASSERT_EQ(kept.x.dtype, SURROGATE_FLOAT64);
    for (int64_t i = 0; i < 4; ++i) {
        for (int64_t axis = 0; axis < 8; ++axis) {
            EXPECT_EQ(static_cast<const double*>(
                          kept.x.data)[i * kept.x.stride[0] + axis * kept.x.stride[1]],
                      x[static_cast<size_t>(8 * i + axis)]);
        }
        EXPECT_EQ(kept.cloud[i], context.rank());
        EXPECT_EQ(kept.weight[i], weights[static_cast<size_t>(i)]);
    }
    EXPECT_EQ(kept.global_id, nullptr);
    EXPECT_NE(kept.weight, weights.data());
}

TEST_F(PointDomains, NeedNeitherCloudsNorWeights) {
    points.cloud = nullptr;
    points.weight = nullptr;
    const Domain domain(context, points);
    EXPECT_EQ(domain.n_clouds(), 1);
    EXPECT_EQ(domain.points().cloud, nullptr);
    EXPECT_EQ(domain.points().weight, nullptr);
}

TEST_F(PointDomains, RefuseNineCoordinates) {
    points.x = matrix(x.data(), 3, 9);
    const Answer found = create(points);
    EXPECT_EQ(found.status, SURROGATE_SHAPE);
    EXPECT_TRUE(found.says("[n_local, 0..8]") && found.says("is 9")) << found;
}

TEST_F(PointDomains, RefuseCountsBeyondAnyMemoryBeforeReading) {
    const Domain domain(context, points);
    for (const int64_t count : {INT64_MAX, INT64_MAX / 8, int64_t{1} << 60}) {
        for (int culprit = 0; culprit <= last(); ++culprit) {
            surrogate_points given = points;
            if (is(culprit)) given.x.shape[0] = count;
            const Answer found = create(given);
            EXPECT_EQ(found.status, SURROGATE_LIMIT) << found;
            EXPECT_TRUE(found.says("points x") && found.says("bytes")) << found;
            EXPECT_EQ(surrogate_domain_update_points(domain.get(), &given), SURROGATE_LIMIT);
        }
    }
    EXPECT_EQ(domain.n_global(), 4 * context.size());
}

TEST_F(PointDomains, RefuseStridesThatLeaveTheAddressSpace) {
    for (const int64_t stride : {INT64_MIN, INT64_MAX, int64_t{1} << 60}) {
        for (size_t axis = 0; axis < 2; ++axis) {
            surrogate_points given = points;
            given.x.stride[axis] = stride;
            const Answer found = create(given);
            EXPECT_EQ(found.status, SURROGATE_SHAPE) << found;
            EXPECT_TRUE(found.says("address space")) << found;
        }
    }
}

TEST_F(PointDomains, RefuseCloudsThatCannotBe) {
    expect_refused(clouds, int64_t{-1}, SURROGATE_INVALID_ARGUMENT, "is -1");
    expect_refused(clouds, int64_t{4} * context.size(), SURROGATE_INVALID_ARGUMENT,
                   "below the number of points");
    expect_refused(clouds, INT64_MAX, SURROGATE_INVALID_ARGUMENT, "is 9223372036854775807");
}

TEST_F(PointDomains, RefuseWeightsThatCannotBe) {
    expect_refused(weights, -1e-9, SURROGATE_INVALID_ARGUMENT, "weight");
    expect_refused(weights, static_cast<double>(NAN), SURROGATE_NOT_FINITE, "weight");
    expect_refused(weights, HUGE_VAL, SURROGATE_NOT_FINITE, "is inf");
}

TEST_F(PointDomains, AreGivenTheSameArraysOnAllRanks) {
    if (context.size() == 1) GTEST_SKIP() << "one rank cannot disagree";
    surrogate_points given = points;
    if (is(0)) given.cloud = nullptr;
    EXPECT_TRUE(create(given).says("some ranks give clouds and some do not"));
    given = points;
    if (is(last())) given.weight = nullptr;
    const Answer found = create(given);
    EXPECT_EQ(found.status, SURROGATE_INVALID_ARGUMENT);
    EXPECT_TRUE(found.says("some ranks give weights and some do not")) << found;
    given = points;
    if (is(last())) given = {matrix(x.data(), 0, 0), nullptr, nullptr, nullptr};  // no points
    EXPECT_EQ(create(given).status, SURROGATE_SUCCESS);
}

TEST_F(PointDomains, OfOneCloudAreWhatTheyAreWithoutClouds) {
    const Model model(context, darcy_model);
    EXPECT_EQ(model.input_domain().keeps_clouds, 1);
    DarcyCase darcy(own_rows("contiguous", 20, world));
    std::vector<int64_t> cloud(darcy.ids.size(), 0);
    surrogate_points given = darcy.points();
    given.cloud = cloud.data();
    const Domain one(context, given);
    EXPECT_EQ(predict(model, context, darcy), [&] {
        Plan plan(model, one);
        darcy.bind(plan);
        plan.run();
        return darcy.pressure;
    }());
}

TEST_F(PointDomains, OfSeveralCloudsAreRefusedByNetworksOfWords) {
    const Model model(context, SURROGATE_TEST_DATA "/flare/lra_tokens_mask.safetensors");
    EXPECT_EQ(model.input_domain().keeps_clouds, 0);
    clouds.back() = 1;
    const Domain domain(context, points);
    surrogate_plan* plan = nullptr;
    const Answer found =
        answer(surrogate_plan_create(model.get(), domain.get(), nullptr, nullptr, &plan));
    EXPECT_EQ(found.status, SURROGATE_NOT_SUPPORTED);
    EXPECT_TRUE(found.says("clouds, and this network has inputs")) << found;
    EXPECT_EQ(found, answer_of_rank_0(found, world));
}

TEST_F(PointDomains, AreNotGrids) {
    surrogate_sphere sphere{};
    sphere.grid = "equiangular";
    sphere.n_lat = 5;
    sphere.n_lon = sphere.n_lon_local = 8;
    sphere.n_lat_local = is(0) ? 5 : 0;
    const Domain grid(context, sphere);
    EXPECT_EQ(grid.n_clouds(), 1);
    surrogate_points kept{};
    const Answer found = answer(surrogate_domain_points(grid.get(), &kept));
    EXPECT_EQ(found.status, SURROGATE_NOT_SUPPORTED);
    EXPECT_TRUE(found.says("surrogate_sphere_nodes")) << found;
}

}  // namespace
}  // namespace surrogate::test
