// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "libsurrogate/src/domain/canonical_order.hpp"
#include "libsurrogate/src/transport/mpi_communicator.hpp"
#include "tests/support/darcy_case.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

using impl::PointDomain;

std::shared_ptr<impl::Context> ranks() {
    return std::make_shared<impl::Context>(impl::mpi_communicator(world), impl::Options{},
                                           impl::Placement{});
}

/// Ids that are neither contiguous nor positive: row 0 .. n - 1 to a permutation of -3 n .. 3 n in
/// steps.
int64_t odd_id(int64_t row, int64_t n) {
    return 6 * ((row * 7 + 3) % n) - 3 * n;
}

template <class Value>
std::vector<int64_t> positions(const std::vector<Value>& own) {
    const std::vector<Value> all = gathered(own, world);
    std::vector<int64_t> result;
    for (const Value& value : own)
        result.push_back(std::count_if(all.begin(), all.end(),
                                       [&](const Value& other) { return other < value; }));
    return result;
}

class CanonicalOrderRanks : public testing::TestWithParam<const char*> {};

TEST_P(CanonicalOrderRanks, SortsByGlobalId) {
    constexpr int64_t n = 101;  // a prime: odd_id is a permutation
    const std::vector<int64_t> rows = own_rows(GetParam(), n, world);
    std::vector<int64_t> ids;
    for (int64_t row : rows) ids.push_back(odd_id(row, n));
    const DarcyCase points(rows);
    const surrogate_points given{matrix(points.x.data(), points.n(), 2), ids.data(), nullptr,
                                 nullptr};
    const PointDomain domain(ranks(), &given);
    EXPECT_EQ(impl::canonical_positions(domain), positions(ids));
}

TEST_P(CanonicalOrderRanks, SortsByCoordinatesAxisByAxis) {
    std::vector<std::vector<double>> own;
    std::vector<double> flat;
    for (int64_t row : own_rows(GetParam(), 60, world)) {  // a 3 x 4 x 5 grid around zero
        own.push_back({static_cast<double>(row % 3) - 1, 0.5 * static_cast<double>(row / 3 % 4) - 1,
                       -static_cast<double>(row / 12)});
        flat.insert(flat.end(), own.back().begin(), own.back().end());
    }
    const std::vector<double> all = gathered(flat, world);
    std::vector<int64_t> expected;
    for (const std::vector<double>& point : own) {
        int64_t before = 0;
        for (size_t i = 0; i < all.size(); i += 3)
            before += std::vector<double>{all[i], all[i + 1], all[i + 2]} < point;
        expected.push_back(before);
    }
    const surrogate_points given{matrix(flat.data(), std::ssize(own), 3), nullptr, nullptr,
                                 nullptr};
    const PointDomain domain(ranks(), &given);
    EXPECT_EQ(impl::canonical_positions(domain), expected);
}

TEST_P(CanonicalOrderRanks, SortsByCloudAndThenById) {
    constexpr int64_t n = 101;
    const std::vector<int64_t> rows = own_rows(GetParam(), n, world);
    std::vector<int64_t> ids, clouds;
    std::vector<std::pair<int64_t, int64_t>> keys;
    for (int64_t row : rows) {
        ids.push_back(odd_id(row, n));
        clouds.push_back(row % 7);
        keys.emplace_back(clouds.back(), ids.back());
    }
    const DarcyCase points(rows);
    const surrogate_points given{matrix(points.x.data(), points.n(), 2), ids.data(), clouds.data(),
                                 nullptr};
    const PointDomain domain(ranks(), &given);
    EXPECT_EQ(impl::positions_by_cloud(domain), positions(keys));
    EXPECT_EQ(impl::canonical_positions(domain), positions(ids));
}

TEST_P(CanonicalOrderRanks, RowsGoToTheirPlaceAndBack) {
    constexpr int64_t n = 101, block = 8;
    const std::vector<int64_t> rows = own_rows(GetParam(), n, world);
    std::vector<int64_t> ids;
    for (int64_t row : rows) ids.push_back(odd_id(row, n));
    const DarcyCase points(rows);
    const surrogate_points given{matrix(points.x.data(), points.n(), 2), ids.data(), nullptr,
                                 nullptr};
    const auto context = ranks();
    const PointDomain domain(context, &given);
    const impl::RowRoute route = impl::canonical_route(domain, block);

    const impl::Range held = route.target_rows();
    EXPECT_TRUE(held.size() == 0 || held.begin % block == 0);
    std::vector<int64_t> scratch(static_cast<size_t>(route.scratch_rows()));
    std::vector<int64_t> canonical(static_cast<size_t>(held.size()), -1);
    route.to_target(context->comm(), ids.data(), scratch.data(), canonical.data(), 8);
    std::vector<int64_t> sorted = gathered(ids, world);
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(gathered(canonical, world), sorted);

    std::vector<int64_t> back(ids.size(), -1);
    route.to_origin(context->comm(), canonical.data(), scratch.data(), back.data(), 8);
    EXPECT_EQ(back, ids);
}

INSTANTIATE_TEST_SUITE_P(Partitions, CanonicalOrderRanks,
                         testing::Values("contiguous", "scattered", "uneven"),
                         [](const auto& kind) { return std::string(kind.param); });

class CanonicalOrderEqual : public testing::Test {
protected:
    /// One point at `value` on the first rank, one at `other` on the last.
    Refusal refused(double value, double other, const int64_t* id = nullptr) {
        std::vector<double> x;
        if (rank_of(world) == 0) x.push_back(value);
        if (rank_of(world) == size_of(world) - 1) x.push_back(other);
        const std::vector<int64_t> ids(x.size(), id ? *id : 0);
        const surrogate_points given{matrix(x.data(), std::ssize(x), 1), id ? ids.data() : nullptr,
                                     nullptr, nullptr};
        const PointDomain domain(ranks(), &given);
        return refusal([&] { impl::canonical_positions(domain); });
    }
};

TEST_F(CanonicalOrderEqual, PointsOnDifferentRanksAreNamedByCoordinates) {
    const Refusal found = refused(0.25, 0.25);
    EXPECT_EQ(found.status, kernels::Status::invalid_argument);
    EXPECT_TRUE(found.says("coordinates (0.25") && found.says("give global ids")) << found.text;
    EXPECT_EQ(refused(0.25, 0.5).status, kernels::Status::success);
}

TEST_F(CanonicalOrderEqual, ZeroAndNegativeZeroAreTheSamePlace) {
    EXPECT_EQ(refused(0.0, -0.0).status, kernels::Status::invalid_argument);
}

TEST_F(CanonicalOrderEqual, PointsOnDifferentRanksAreNamedById) {
    const int64_t id = -42;
    const Refusal found = refused(0.25, 0.5, &id);
    EXPECT_EQ(found.status, kernels::Status::invalid_argument);
    EXPECT_TRUE(found.says("global id -42") && found.says("ghost points")) << found.text;
}

TEST(CanonicalOrderNeither, IdsNorCoordinatesIsRefused) {
    double none = 0;
    const surrogate_points given{matrix(&none, 3, 0), nullptr, nullptr, nullptr};
    const PointDomain domain(ranks(), &given);
    const Refusal found = refusal([&] { impl::canonical_positions(domain); });
    EXPECT_EQ(found.status, kernels::Status::invalid_argument);
    EXPECT_TRUE(found.says("give the domain global ids")) << found.text;
}

}  // namespace
}  // namespace surrogate::test
