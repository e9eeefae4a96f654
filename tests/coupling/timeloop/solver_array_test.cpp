// SPDX-License-Identifier: Apache-2.0
// Any strides and axes, against the index computed by hand; nothing beside the points is touched.
#include "coupling/timeloop/solver_array.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

#include "tests/support/trap_guard.hpp"

namespace surrogate::timeloop {
namespace {

struct Shape {
    std::vector<int64_t> extents, strides;
    int64_t first;  // of the point 0 in the memory
};

const Shape shapes[] = {
    {{7}, {1}, 0},
    {{7}, {3}, 2},
    {{7}, {-2}, 12},
    {{3, 4}, {1, 5}, 6},
    {{3, 4}, {4, 1}, 0},
    {{2, 3, 2}, {1, 4, 20}, 5},
    {{2, 1, 3, 2}, {-1, 9, 4, 16}, 3},
    {{1, 5}, {0, 2}, 1},
};
constexpr size_t n_memory = 64;

template <class T>
surrogate_block block_of(const Shape& shape, T* memory) {
    surrogate_block block{};
    block.data = memory + shape.first;
    for (size_t a = 0; a < shape.extents.size(); ++a) {
        block.shape[a] = shape.extents[a];
        block.stride[a] = shape.strides[a];
    }
    block.n_dim = static_cast<int32_t>(shape.extents.size());
    block.dtype = sizeof(T) == 4 ? SURROGATE_FLOAT32 : SURROGATE_FLOAT64;
    return block;
}

/// Index of each point in memory.
std::vector<size_t> places(const Shape& shape) {
    std::vector<size_t> list;
    const int64_t n = std::accumulate(shape.extents.begin(), shape.extents.end(), int64_t{1},
                                      std::multiplies<>());
    for (int64_t i = 0; i < n; ++i) {
        int64_t rest = i, at = shape.first;
        for (size_t a = 0; a < shape.extents.size(); ++a) {
            at += rest % shape.extents[a] * shape.strides[a];
            rest /= shape.extents[a];
        }
        list.push_back(static_cast<size_t>(at));
    }
    return list;
}

template <class T>
void expect_reads_and_writes(const Shape& shape) {
    std::vector<T> memory(n_memory);
    std::iota(memory.begin(), memory.end(), T(100));
    const SolverArray array(block_of(shape, memory.data()));
    const std::vector<size_t> at = places(shape);
    ASSERT_EQ(array.n_point(), std::ssize(at));
    for (int64_t first = 0; first <= array.n_point(); ++first) {
        for (int64_t count = 0; first + count <= array.n_point(); ++count) {
            std::vector<double> values(static_cast<size_t>(count));
            array.read(first, count, values.data());
            for (int64_t i = 0; i < count; ++i)
                EXPECT_EQ(values[size_t(i)], 100 + double(at[size_t(first + i)]));
            for (double& value : values) value = -value;
            std::vector<T> expected = memory;
            for (int64_t i = 0; i < count; ++i) expected[at[size_t(first + i)]] *= -1;
            array.write(first, count, values.data());
            EXPECT_EQ(memory, expected);
            for (int64_t i = 0; i < count; ++i) memory[at[size_t(first + i)]] *= -1;
        }
    }
}

template <class T>
void expect_copies(const Shape& shape) {
    std::vector<T> memory(n_memory);
    std::iota(memory.begin(), memory.end(), T(1));
    const std::vector<T> before = memory;
    const SolverArray array(block_of(shape, memory.data()));
    const std::vector<size_t> at = places(shape);
    std::vector<T> kept(2 * at.size(), T(-1));
    array.copy_to(reinterpret_cast<std::byte*>(kept.data()), 2);
    for (size_t i = 0; i < at.size(); ++i) {
        EXPECT_EQ(kept[2 * i], before[at[i]]);
        EXPECT_EQ(kept[2 * i + 1], T(-1));
        memory[at[i]] = 0;
    }
    array.copy_from(reinterpret_cast<const std::byte*>(kept.data()), 2);
    EXPECT_EQ(memory, before);
}

TEST(SolverArray, ReachesItsPointsAndNothingElse) {
    for (const Shape& shape : shapes) {
        expect_reads_and_writes<float>(shape);
        expect_reads_and_writes<double>(shape);
        expect_copies<float>(shape);
        expect_copies<double>(shape);
    }
}

TEST(SolverArray, OfNoPointsNeedsNoMemory) {
    surrogate_block block{};
    block.n_dim = 3;
    block.shape[0] = 4;
    block.shape[1] = 0;
    block.shape[2] = int64_t{1} << 40;
    block.dtype = SURROGATE_FLOAT64;
    EXPECT_NO_THROW(check_block(block, "height", 0, true));
    const SolverArray array(block);
    EXPECT_EQ(array.n_point(), 0);
    array.read(0, 0, nullptr);
    array.copy_to(nullptr, 1);
}

TEST(SolverArray, KnowsWhetherPointsShareMemory) {
    const auto is_distinct = [](int64_t first, int64_t second) {
        double memory[1] = {};
        surrogate_block block{};
        block.data = memory;
        block.n_dim = 2;
        block.shape[0] = 4;
        block.shape[1] = 3;
        block.stride[0] = first;
        block.stride[1] = second;
        block.dtype = SURROGATE_FLOAT64;
        return SolverArray(block).is_distinct();
    };
    EXPECT_TRUE(is_distinct(1, 4) && is_distinct(-1, 4) && is_distinct(3, 1) && is_distinct(2, -7));
    EXPECT_FALSE(is_distinct(1, 3) || is_distinct(0, 1) || is_distinct(1, 0) || is_distinct(2, 2));
}

TEST(SolverArray, FloatsHoldWhatTheyCanAndNaNElse) {
    const test::TrapGuard traps;
    float memory[4] = {};
    const SolverArray array(surrogate_column_f32(memory, 4, 1), 0, Placement{4});
    const double values[] = {0.1, 1e39, -1e300, INFINITY};
    array.write(0, 4, values);
    EXPECT_EQ(memory[0], 0.1f);
    for (int i = 1; i < 4; ++i) EXPECT_TRUE(std::isnan(memory[i])) << i;
    EXPECT_EQ(as_single(0.1), double{0.1f});
}

}  // namespace
}  // namespace surrogate::timeloop
