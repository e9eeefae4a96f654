// SPDX-License-Identifier: Apache-2.0
// Edges of a domain: their distribution over ranks, and errors on all ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "libsurrogate/src/domain/nearest_edges.hpp"
#include "libsurrogate/src/domain/ordered_edges.hpp"
#include "libsurrogate/src/transport/mpi_communicator.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

constexpr int64_t n_point = 40;

/// Ids far apart, of both signs.
int64_t id_of(int64_t row) {
    return (row - 17) * 1'000'003;
}

std::vector<int64_t> ids_of(const std::vector<int64_t>& rows) {
    std::vector<int64_t> ids;
    for (const int64_t row : rows) ids.push_back(id_of(row));
    return ids;
}

/// Each point has edges to the three points behind it, the second of them twice. This rank gives
/// those whose source it is asked for.
struct Given {
    std::vector<int64_t> source, target;
    explicit Given(const std::vector<int64_t>& sources) {
        for (const int64_t row : sources)
            for (const int64_t step : {2, 1, 3, 2}) {
                source.push_back(id_of(row));
                target.push_back(id_of((row + step) % n_point));
            }
    }
};

class EdgesOf : public testing::TestWithParam<const char*> {};

TEST_P(EdgesOf, LieAtTheirTargetsSortedBySource) {
    const auto comm = impl::mpi_communicator(world);
    const auto rows = own_rows(GetParam(), n_point, world);
    const auto ids = ids_of(rows);
    const Given given(own_rows("scattered", n_point, world));
    const impl::Edges edges = impl::locate_edges(*comm, ids, {given.source, given.target});
    const auto n_local = static_cast<int64_t>(rows.size());
    std::vector<int64_t> first(static_cast<size_t>(size_of(world)) + 1, 0);
    const auto counts = gathered(std::vector<int64_t>{n_local}, world);
    for (size_t r = 0; r < counts.size(); ++r) first[r + 1] = first[r] + counts[r];
    const auto all_rows = gathered(rows, world);
    ASSERT_EQ(std::ssize(edges.first), n_local + 1);
    for (int64_t i = 0; i < n_local; ++i) {
        const int64_t row = rows[static_cast<size_t>(i)];
        std::vector<int64_t> expected, found;
        for (const int64_t step : {1, 2, 2, 3})
            expected.push_back((row - step + n_point) % n_point);
        std::ranges::sort(expected);
        for (int64_t e = edges.first[static_cast<size_t>(i)];
             e < edges.first[static_cast<size_t>(i) + 1]; ++e) {
            const auto at = static_cast<size_t>(e);
            const auto owner = static_cast<size_t>(edges.source_rank[at]);
            found.push_back(all_rows[static_cast<size_t>(first[owner] + edges.source_row[at])]);
        }
        EXPECT_EQ(found, expected) << "row " << row;
    }
}

/// In the ordering by descending row.
TEST_P(EdgesOf, KeepTheirOrderInAnotherOrderingOfThePoints) {
    const auto comm = impl::mpi_communicator(world);
    const auto rows = own_rows(GetParam(), n_point, world);
    const Given given(rows);
    const impl::Edges edges = impl::locate_edges(*comm, ids_of(rows), {given.source, given.target});
    std::vector<int64_t> positions, begins;
    for (const int64_t row : rows) positions.push_back(n_point - 1 - row);
    for (int rank = 0; rank <= size_of(world); ++rank)
        begins.push_back(n_point * rank / size_of(world));
    const impl::RowRoute route(*comm, positions, begins);
    const impl::Edges ordered = impl::ordered_edges(*comm, edges, route, begins);
    const impl::Range own = route.target_rows();
    ASSERT_EQ(std::ssize(ordered.first), own.size() + 1);
    for (int64_t i = 0; i < own.size(); ++i) {
        const int64_t row = n_point - 1 - own.begin - i;
        std::vector<int64_t> expected, found;
        for (const int64_t step : {1, 2, 2, 3})
            expected.push_back((row - step + n_point) % n_point);
        std::ranges::sort(expected);
        for (int64_t e = ordered.first[static_cast<size_t>(i)];
             e < ordered.first[static_cast<size_t>(i) + 1]; ++e) {
            const auto at = static_cast<size_t>(e);
            const auto owner = static_cast<size_t>(ordered.source_rank[at]);
            found.push_back(n_point - 1 - begins[owner] - ordered.source_row[at]);
        }
        EXPECT_EQ(found, expected) << "row " << row;
    }
}

/// A structured grid of 5 x 4 x 4 points, many at equal distances from each other. The ordering is
/// the order of rows, so that ranks have neighbors on all others.
TEST_P(EdgesOf, NearestPointsAreThoseOfASearchThroughAllPoints) {
    constexpr int64_t n = 80;
    const auto comm = impl::mpi_communicator(world);
    const auto rows = own_rows(GetParam(), n, world);
    const auto coordinate = [](int64_t row, int64_t axis) {
        const int64_t index = axis == 0 ? row % 5 : axis == 1 ? row / 5 % 4 : row / 20;
        return static_cast<float>(index) * (axis == 2 ? 0.5f : 1.0f);
    };
    impl::TreePoints points;
    points.x = kernels::Buffer<float>(3 * std::ssize(rows));
    points.ids = kernels::Buffer<int64_t>(std::ssize(rows));
    for (int64_t i = 0; i < std::ssize(rows); ++i) {
        const int64_t row = rows[static_cast<size_t>(i)];
        points.ids[i] = id_of(row);
        for (int64_t axis = 0; axis < 3; ++axis)
            points.x[axis * std::ssize(rows) + i] = coordinate(row, axis);
    }
    std::vector<int64_t> begins;
    for (int rank = 0; rank <= size_of(world); ++rank) begins.push_back(n * rank / size_of(world));
    const impl::RowRoute route(*comm, rows, begins);
    for (const int64_t k : {1, 6, 100}) {
        const impl::Edges edges = impl::nearest_edges(
            *comm, kernels::Queue(kernels::Backend::simd, kernels::best_vector_level(), 2), points,
            3, route, k);
        for (int64_t i = 0; i < std::ssize(rows); ++i) {
            const int64_t row = rows[static_cast<size_t>(i)];
            std::vector<std::pair<double, int64_t>> all;  // squared distance, id
            for (int64_t other = 0; other < n; ++other) {
                double square = other == row ? -1 : 0;
                for (int64_t axis = 0; axis < 3; ++axis)
                    square += std::pow(coordinate(other, axis) - coordinate(row, axis), 2);
                all.emplace_back(square, id_of(other));
            }
            std::ranges::sort(all);
            all.resize(static_cast<size_t>(std::min(k, n)));
            std::vector<int64_t> expected;
            for (const auto& [square, id] : all) expected.push_back(id);
            std::ranges::sort(expected);
            const auto first = edges.source_id.begin();
            const std::vector<int64_t> found(first + edges.first[static_cast<size_t>(i)],
                                             first + edges.first[static_cast<size_t>(i) + 1]);
            EXPECT_EQ(found, expected) << "row " << row << ", k " << k;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Edges, EdgesOf, testing::Values("contiguous", "scattered", "uneven"));

class DomainEdges : public testing::Test {
protected:
    /// Only the last rank gives this edge.
    Answer set(const Domain& domain, int64_t source, int64_t target) {
        const bool is_last = rank_of(world) == size_of(world) - 1;
        const Answer found =
            answer(surrogate_domain_set_edges(domain.get(), is_last ? 1 : 0, &source, &target));
        EXPECT_EQ(found, answer_of_rank_0(found, world));
        EXPECT_TRUE(ranks_still_talk(world));
        return found;
    }

    const Context context = mpi_context(world);
    const std::vector<int64_t> rows = own_rows("scattered", n_point, world);
    std::vector<int64_t> ids = ids_of(rows);
    std::vector<double> x = std::vector<double>(rows.begin(), rows.end());
    surrogate_array array = matrix(x.data(), std::ssize(x), 1);
};

TEST_F(DomainEdges, OfPointsThatThereAreAreTaken) {
    const Domain domain(context, array, ids.data());
    EXPECT_EQ(set(domain, id_of(3), id_of(39)).status, SURROGATE_SUCCESS);
    EXPECT_EQ(set(domain, id_of(3), id_of(3)).status, SURROGATE_SUCCESS);
}

TEST_F(DomainEdges, WithAnIdThatNoPointHasAreRefusedByName) {
    const Domain domain(context, array, ids.data());
    const Answer source = set(domain, 12345, id_of(1));
    EXPECT_EQ(source.status, SURROGATE_INVALID_ARGUMENT);
    EXPECT_TRUE(source.says("source 12345")) << source;
    const Answer target = set(domain, id_of(1), -7);
    EXPECT_EQ(target.status, SURROGATE_INVALID_ARGUMENT);
    EXPECT_TRUE(target.says("target -7")) << target;
}

TEST_F(DomainEdges, OfCountsBeyondAnyMemoryAreRefusedOnAllRanks) {
    const Domain domain(context, array, ids.data());
    const int64_t id = id_of(1);
    const int64_t n_edge = rank_of(world) == size_of(world) - 1 ? INT64_MAX : 1;
    const Answer found = answer(surrogate_domain_set_edges(domain.get(), n_edge, &id, &id));
    EXPECT_EQ(found, answer_of_rank_0(found, world));
    EXPECT_EQ(found.status, SURROGATE_LIMIT);
    EXPECT_TRUE(found.says("n_edge is 9223372036854775807")) << found;
}

TEST_F(DomainEdges, NeedPointsWithDifferentIds) {
    const Domain without(context, array);
    EXPECT_TRUE(set(without, 0, 0).says("give them ids"));
    ids.back() = ids.front();
    const Domain twins(context, array, ids.data());
    EXPECT_TRUE(set(twins, id_of(1), id_of(1)).says("two points have id"));
}

}  // namespace
}  // namespace surrogate::test
