// SPDX-License-Identifier: Apache-2.0
// Orders of points: rows in the same order for every partition, and errors.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "tests/support/darcy_case.hpp"
#include "tests/support/memory_meter.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/sphere_case.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

constexpr size_t row_width = 5;  // bytes: rows need no alignment

/// A row of each value: bytes that tell it from all others.
std::vector<uint8_t> rows_of(const std::vector<int64_t>& values) {
    std::vector<uint8_t> bytes;
    for (const int64_t value : values)
        for (size_t i = 0; i < row_width; ++i)
            bytes.push_back(static_cast<uint8_t>(value >> (8 * (i % 4))));
    return bytes;
}

/// The rows lie in the order of `values` of all ranks, sorted; this rank holds its balanced share;
/// and they come back as they were.
void expect_sorted(const Domain& domain, const std::vector<int64_t>& values) {
    const Ordering order(domain, 2 * row_width);
    std::vector<int64_t> sorted = gathered(values, world);
    std::sort(sorted.begin(), sorted.end());
    const std::vector<int64_t> range =
        own_rows("contiguous", static_cast<int64_t>(sorted.size()), world);
    EXPECT_EQ(order.n(), std::ssize(range));
    if (!range.empty()) {
        EXPECT_EQ(order.first(), range.front());
    }

    const std::vector<uint8_t> local = rows_of(values);
    std::vector<uint8_t> ordered(static_cast<size_t>(order.n()) * row_width), back(local.size());
    const MemoryMeter meter;
    order.to_canonical(row_width, local.data(), ordered.data());
    order.to_local(row_width, ordered.data(), back.data());
    EXPECT_EQ(meter.n_allocation(), 0);
    EXPECT_EQ(gathered(ordered, world), rows_of(sorted));
    EXPECT_EQ(back, local);
}

// ---- scattered points ----

class PointOrderRanks : public testing::TestWithParam<const char*> {
protected:
    const Context context = mpi_context(world);
};

TEST_P(PointOrderRanks, OfPointsWithIdsFollowsThem) {
    std::vector<int64_t> ids;
    for (const int64_t row : own_rows(GetParam(), 101, world)) ids.push_back(7 * row % 101 + 5);
    const std::vector<double> x(ids.size(), 0.5);  // ids come first
    expect_sorted(Domain(context, matrix(x.data(), std::ssize(x), 1), ids.data()), ids);
}

TEST_P(PointOrderRanks, OfPointsWithoutIdsFollowsTheirCoordinates) {
    std::vector<int64_t> places;
    std::vector<double> x;
    for (const int64_t row : own_rows(GetParam(), 60, world)) {
        places.push_back(row * 7 % 60);
        x.push_back(static_cast<double>(places.back() / 10) - 3);
        x.push_back(static_cast<double>(places.back() % 10) / 8);
    }
    expect_sorted(Domain(context, matrix(x.data(), std::ssize(x) / 2, 2)), places);
}

INSTANTIATE_TEST_SUITE_P(Partitions, PointOrderRanks,
                         testing::Values("contiguous", "scattered", "uneven"),
                         [](const auto& kind) { return std::string(kind.param); });

TEST(PointOrder, MayHaveFewerPointsThanRanks) {
    const Context context = mpi_context(world);
    for (const int64_t n : {0, 1}) {
        std::vector<int64_t> ids(static_cast<size_t>(context.rank() == context.size() - 1 ? n : 0));
        const std::vector<double> x(ids.size());
        expect_sorted(Domain(context, matrix(x.data(), std::ssize(x), 1), ids.data()), ids);
    }
}

TEST(PointOrder, OutlivesItsDomain) {
    const Context context = mpi_context(world);
    const int64_t id = context.size() - context.rank();
    const auto order = [&] {
        const double x = 1;
        return Ordering(Domain(context, matrix(&x, 1, 1), &id), sizeof id);
    }();
    int64_t ordered = -1;
    order.to_canonical(sizeof id, &id, &ordered);
    EXPECT_EQ(ordered, context.rank() + 1);
}

// ---- grids on the sphere ----

class PointOrderSphere : public testing::TestWithParam<SphereLayout> {};

TEST_P(PointOrderSphere, GoesFromNorthToSouthAndEastwards) {
    const Context context = mpi_context(world);
    const surrogate_domain_info grid{SURROGATE_SPHERE, 0, "legendre-gauss", 9, 12};
    const SphereBlock block(grid, GetParam(), context.rank(), context.size());
    std::vector<int64_t> places;
    for (int64_t i = 0; i < block.n_lat(); ++i)
        for (int64_t j = 0; j < block.n_lon(); ++j) places.push_back(block.model_index(i, j));
    expect_sorted(Domain(context, block.sphere()), places);
}

INSTANTIATE_TEST_SUITE_P(Layouts, PointOrderSphere,
                         testing::Values(SphereLayout{.name = "Bands"},
                                         SphereLayout{.name = "UnevenBands", .partition = "uneven"},
                                         SphereLayout{.name = "ShiftedBlocksSouthFirst",
                                                      .partition = "scattered",
                                                      .south_first = true,
                                                      .shift = 7},
                                         SphereLayout{.name = "NodesGiven",
                                                      .partition = "scattered",
                                                      .south_first = true,
                                                      .shift = 11,
                                                      .with_nodes = true},
                                         SphereLayout{.name = "Ghosts", .ghosts = 2}),
                         [](const auto& layout) { return layout.param.name; });

TEST(PointOrderSphere, OfColumnsBetweenWholeStepsStartsEastOfZero) {
    const Context context = mpi_context(world);
    const surrogate_domain_info grid{SURROGATE_SPHERE, 0, "equiangular", 6, 4};
    const SphereBlock block(grid, {}, context.rank(), context.size());
    for (const double first : {45.0, 225.0, 359.9999}) {  // the last one: 0 in single precision
        surrogate_sphere sphere = block.sphere();
        sphere.first_longitude = first;
        const int64_t n_before = static_cast<int64_t>(first + 0.5) / 90;
        std::vector<int64_t> places;
        for (int64_t i = 0; i < block.n_lat(); ++i)
            for (int64_t j = 0; j < block.n_lon(); ++j)
                places.push_back(4 * block.model_row(i) + (j + n_before) % 4);
        expect_sorted(Domain(context, sphere), places);
    }
}

// ---- errors ----

class PointOrderRefused : public testing::Test {
protected:
    void expect_refused(surrogate_status status, const std::string& part, const Answer& found) {
        EXPECT_EQ(found.status, status) << found;
        EXPECT_TRUE(found.says(part)) << found;
        EXPECT_EQ(found, answer_of_rank_0(found, world));
        EXPECT_TRUE(ranks_still_talk(world));
    }
    Answer create(const Domain& domain, int64_t row_bytes) {
        surrogate_ordering* order = nullptr;
        const Answer found = answer(surrogate_ordering_create(domain.get(), row_bytes, &order));
        EXPECT_EQ(order, nullptr);
        return found;
    }
    /// Two points a rank, with this rank's ids.
    Domain points(const std::vector<int64_t>& ids) {
        const double x[] = {0.25, 0.75};
        return {context, matrix(x, 2, 1), ids.data()};
    }

    const Context context = mpi_context(world);
    const int64_t rank = context.rank();
    const bool is_last = rank == context.size() - 1;
};

TEST_F(PointOrderRefused, EqualPointsAreNamed) {
    const int64_t equal = is_last ? 0 : 2 * rank + 1;  // 0 is on rank 0 as well
    expect_refused(SURROGATE_INVALID_ARGUMENT, "same global id 0",
                   create(points({2 * rank, equal}), 8));
    const double x[] = {static_cast<double>(rank), is_last ? 0.0 : static_cast<double>(rank) + 0.5};
    const Answer found = create(Domain(context, matrix(x, 2, 1)), 8);
    expect_refused(SURROGATE_INVALID_ARGUMENT, "same coordinates (0.0", found);
    EXPECT_TRUE(found.says("surrogate_ordering_create")) << found;
}

TEST_F(PointOrderRefused, PointsWithoutIdsAndCoordinates) {
    double none = 0;
    expect_refused(SURROGATE_INVALID_ARGUMENT, "give the domain global ids or coordinates",
                   create(Domain(context, matrix(&none, 2, 0)), 8));
}

TEST_F(PointOrderRefused, RowsOfNoBytes) {
    const Domain domain = points({2 * rank, 2 * rank + 1});
    expect_refused(SURROGATE_SHAPE, "row_bytes is 0", create(domain, is_last ? 0 : 8));
    expect_refused(SURROGATE_NO_MEMORY, "memory", create(domain, int64_t{1} << 62));
}

TEST_F(PointOrderRefused, NullResultOnOneRank) {
    const Domain domain = points({2 * rank, 2 * rank + 1});
    surrogate_ordering* order = nullptr;
    expect_refused(SURROGATE_INVALID_ARGUMENT, "'order' is NULL",
                   answer(surrogate_ordering_create(domain.get(), 8, is_last ? nullptr : &order)));
    EXPECT_EQ(order, nullptr);
    EXPECT_EQ(surrogate_ordering_create(nullptr, 8, &order), SURROGATE_INVALID_ARGUMENT);
}

TEST_F(PointOrderRefused, ArgumentsOfOneRankAreRefusedOnAllAndTheNextCallWorks) {
    const Ordering order(points({2 * rank, 2 * rank + 1}), 8);
    const int64_t local[] = {2 * rank, 2 * rank + 1};
    const auto move = [&](int64_t row_bytes, bool has_local, bool has_ordered) {
        int64_t ordered[2] = {-1, -1}, back[2] = {-1, -1};
        const Answer found = answer(surrogate_ordering_to_canonical(
            order.get(), row_bytes, has_local ? local : nullptr, has_ordered ? ordered : nullptr));
        const Answer other = answer(surrogate_ordering_to_local(
            order.get(), row_bytes, has_ordered ? ordered : nullptr, has_local ? back : nullptr));
        EXPECT_EQ(found, other);
        if (found.status == SURROGATE_SUCCESS) {
            EXPECT_EQ(back[0], local[0]);
            EXPECT_EQ(back[1], local[1]);
        } else {
            EXPECT_EQ(ordered[0], -1);
        }
        return found;
    };
    expect_refused(SURROGATE_INVALID_ARGUMENT, "'local' is NULL", move(8, !is_last, true));
    expect_refused(SURROGATE_INVALID_ARGUMENT, "'ordered' is NULL", move(8, true, !is_last));
    expect_refused(SURROGATE_SHAPE, "row_bytes is 9, expected 1 .. 8",
                   move(is_last ? 9 : 8, true, true));
    expect_refused(SURROGATE_SHAPE, "row_bytes is -1", move(is_last ? -1 : 8, true, true));
    if (context.size() > 1)
        expect_refused(SURROGATE_INVALID_ARGUMENT, "different row_bytes: 4 .. 8",
                       move(is_last ? 4 : 8, true, true));
    EXPECT_EQ(move(8, true, true).status, SURROGATE_SUCCESS);
}

}  // namespace
}  // namespace surrogate::test
