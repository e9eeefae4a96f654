// SPDX-License-Identifier: Apache-2.0
// Reading the caller's columns: numbers, values that do not fit, and counts of those outside the
// range, against a loop that does one thing at a time.
#include "libsurrogate/src/domain/columns.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "libsurrogate/src/domain/blocks.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/trap_guard.hpp"

namespace surrogate::impl {
namespace {

surrogate_array array_of(int32_t dtype, void* data) {
    return {data, {2, 2}, {2, 1}, dtype, SURROGATE_HOST};
}

TEST(Columns, RealAndIntegerArraysAreNotTakenForEachOther) {
    int64_t data[4] = {};
    for (const int32_t dtype :
         std::vector<int32_t>{SURROGATE_FLOAT32, SURROGATE_FLOAT64, SURROGATE_INT32,
                              SURROGATE_INT64, SURROGATE_UINT8, 77}) {
        for (const NumberKind kind : {NumberKind::real, NumberKind::integer}) {
            const bool is_real = dtype == SURROGATE_FLOAT32 || dtype == SURROGATE_FLOAT64;
            const bool is_integer = dtype == SURROGATE_INT32 || dtype == SURROGATE_INT64;
            const test::Refusal found =
                test::refusal([&] { check_array(array_of(dtype, data), "tokens", false, kind); });
            if (kind == NumberKind::real ? is_real : is_integer) {
                EXPECT_EQ(found.status, kernels::Status::success) << found.text;
                continue;
            }
            EXPECT_EQ(found.status, kernels::Status::invalid_argument);
            EXPECT_TRUE(
                found.says(kind == NumberKind::real ? "SURROGATE_FLOAT32" : "SURROGATE_INT32"))
                << found.text;
        }
    }
}

TEST(Columns, IntegersOfBothWidthsAreRead) {
    int32_t narrow[] = {1, -2, 3, INT32_MIN};
    int64_t wide[] = {1, -2, 3, INT64_MIN};
    const Column of_narrow = column_of(array_of(SURROGATE_INT32, narrow), 1),
                 of_wide = column_of(array_of(SURROGATE_INT64, wide), 1);
    EXPECT_EQ(load_integer(of_narrow, 0), -2);
    EXPECT_EQ(load_integer(of_narrow, 1), INT32_MIN);
    EXPECT_EQ(load_integer(of_wide, 0), -2);
    EXPECT_EQ(load_integer(of_wide, 1), INT64_MIN);
}

constexpr double infinity = std::numeric_limits<double>::infinity();

struct Kind {
    const char* name;
    bool is_double;
    int64_t stride;
    double mean, std, min, max;
};

/// Numbers around a range, and those that are awkward to compare.
std::vector<double> awkward_values(const Kind& kind) {
    std::mt19937 random(20241);
    std::vector<double> values = {0.0, -0.0, 1e-310, -1e-310, 1e-42, -1e-42, kind.mean};
    for (const double end : {kind.min, kind.max}) {
        if (std::isinf(end)) continue;
        const auto close = static_cast<float>(end);
        for (const double v : {end, std::nextafter(end, -infinity), std::nextafter(end, infinity)})
            values.push_back(v);
        for (const float v : {close, std::nextafter(close, -1e30f), std::nextafter(close, 1e30f)})
            values.push_back(static_cast<double>(v));
    }
    for (const double far : {1e30, -1e30, 3e38, -3e38}) values.push_back(far);
    std::normal_distribution<double> near(kind.mean, 2 * kind.std);
    while (values.size() < 150) values.push_back(near(random));
    std::shuffle(values.begin(), values.end(), random);
    return values;
}

/// A column of values in a caller's memory.
struct Memory {
    Memory(const Kind& kind, const std::vector<double>& values) {
        const auto n = static_cast<int64_t>(values.size());
        column.is_double = kind.is_double;
        column.stride = kind.stride;
        column.mean = kind.mean;
        column.std = kind.std;
        column.min = kind.min;
        column.max = kind.max;
        doubles.resize(static_cast<size_t>(n * std::abs(kind.stride)));
        floats.resize(doubles.size());
        const int64_t first = kind.stride < 0 ? (n - 1) * -kind.stride : 0;
        column.data = kind.is_double ? static_cast<void*>(doubles.data() + first)
                                     : static_cast<void*>(floats.data() + first);
        for (int64_t i = 0; i < n; ++i) store(column, i, values[static_cast<size_t>(i)]);
    }
    Column column;
    std::vector<double> doubles;
    std::vector<float> floats;
};

template <class T>
struct Found {
    std::vector<T> row;
    BadValue bad;
    Outside outside;
};

/// By the words of the contract, one point after the other.
template <class T>
Found<T> expected(const Column& column, int64_t n) {
    Found<T> found;
    for (int64_t i = 0; i < n; ++i) {
        const double value = load(column, i);
        const double input = (value - column.mean) / column.std;
        const bool fits = std::abs(input) <= static_cast<double>(std::numeric_limits<T>::max());
        found.row.push_back(fits ? static_cast<T>(input) : T(0));
        if (!fits && found.bad.column < 0) found.bad = {0, i, value, true};
        if (!fits || (value >= column.min && value <= column.max)) continue;
        ++found.outside.n;
        const auto distance = [&](double v) { return std::max(column.min - v, v - column.max); };
        const double now = distance(value), before = distance(found.outside.worst);
        // Among values equally far outside, the larger one.
        if (found.outside.n == 1 || now > before || (now == before && value > found.outside.worst))
            found.outside.worst = value;
    }
    return found;
}

template <class T>
Found<T> gathered(const Column& column, int64_t n) {
    Found<T> found;
    found.row.resize(static_cast<size_t>(n));
    const surrogate::test::TrapGuard guard;
    found.bad = gather<T>({&column, 1}, 0, n, found.row.data(), 1, n, &found.outside);
    return found;
}

template <class T>
void expect_same(const Column& column, int64_t n) {
    const Found<T> plain = expected<T>(column, n), found = gathered<T>(column, n);
    EXPECT_EQ(found.row, plain.row);
    EXPECT_EQ(found.bad.column, plain.bad.column);
    EXPECT_EQ(found.bad.point, plain.bad.point);
    EXPECT_EQ(found.outside.n, plain.outside.n);
    EXPECT_EQ(found.outside.worst, plain.outside.worst);
}

class Gather : public testing::TestWithParam<Kind> {};

TEST_P(Gather, NormalisesAndCountsAsAPlainLoopDoes) {
    const std::vector<double> values = awkward_values(GetParam());
    for (const size_t n : {size_t{0}, size_t{1}, size_t{63}, values.size()}) {
        const Memory memory(GetParam(), {values.begin(), values.begin() + static_cast<int>(n)});
        expect_same<float>(memory.column, static_cast<int64_t>(n));
        expect_same<double>(memory.column, static_cast<int64_t>(n));
    }
}

TEST_P(Gather, CountsNoValueThatIsNotFinite) {
    for (const double bad : {static_cast<double>(NAN), infinity, -infinity}) {
        std::vector<double> values(70, GetParam().mean);
        values[20] = bad;
        values[50] = bad;
        const Memory memory(GetParam(), values);
        const Found<float> found = gathered<float>(memory.column, 70);
        EXPECT_EQ(found.outside.n, expected<float>(memory.column, 70).outside.n);
        EXPECT_EQ(found.bad.point, 20);
        EXPECT_EQ(found.row[20], 0);
    }
}

INSTANTIATE_TEST_SUITE_P(
    Columns, Gather,
    testing::Values(Kind{"Doubles", true, 1, 7.5, 4.5, 3, 12},
                    Kind{"DoublesInRows", true, 3, 7.5, 4.5, 3, 12},
                    Kind{"DoublesBackwards", true, -2, 7.5, 4.5, 3, 12},
                    Kind{"Floats", false, 1, 0.5, 0.29, 0, 1},
                    Kind{"FloatsInRows", false, 4, 0.5, 0.29, 0, 1},
                    Kind{"PlainFloats", false, 1, 0, 1, -1, 1},
                    Kind{"PlainFloatsFromZero", false, 1, 0, 1, 0, 1},
                    Kind{"PlainFloatsToZero", false, 1, 0, 1, -1, 0},
                    Kind{"PlainFloatsBetweenFloats", false, 1, 0, 1, -0.1, 0.1},
                    Kind{"PlainFloatsWithoutRange", false, 1, 0, 1, -infinity, infinity},
                    Kind{"PlainDoubles", true, 1, 0, 1, -1, 1},
                    Kind{"WithoutRange", true, 1, 7.5, 4.5, -infinity, infinity},
                    Kind{"OpenAbove", true, 1, 7.5, 4.5, 3, infinity},
                    Kind{"OpenBelow", true, 1, 7.5, 4.5, -infinity, 12},
                    Kind{"OnePointRange", true, 1, 7.5, 4.5, 8, 8},
                    Kind{"RangeBeyondFloats", false, 1, 0, 1, 1e300, 1e301},
                    Kind{"TinyUnit", true, 1, 1e-30, 1e-30, 0, 2e-30},
                    Kind{"HugeUnit", true, 1, 1e200, 1e280, -1e281, 1e281}),
    [](const auto& kind) { return std::string(kind.param.name); });

/// A block of 5 x 3 x 2 points inside an array of 7 x 4 x 3, its second axis backwards.
struct BlockColumn {
    static constexpr int64_t n = 30;
    BlockColumn() {
        column.data = memory.data() + 1 + 7 * 3;
        column.is_double = true;
        column.std = 2;
        column.min = 3;
        column.max = 27;
        column.lattice = {3, {5, 3, 2}, {1, -7, 28}};
        for (int64_t i = 0; i < n; ++i) place(i) = static_cast<double>(i);
    }
    double& place(int64_t i) {
        return memory[static_cast<size_t>(22 + i % 5 - 7 * (i / 5 % 3) + 28 * (i / 15))];
    }
    std::vector<double> memory = std::vector<double>(7 * 4 * 3, NAN);
    Column column;
};

TEST(Lattices, AreReadFromAnyPointToAnyOther) {
    BlockColumn block;
    for (int64_t first = 0; first <= block.n; ++first) {
        for (int64_t count = 0; first + count <= block.n; ++count) {
            std::vector<float> row(static_cast<size_t>(count));
            Outside outside;
            const BadValue bad =
                gather<float>({&block.column, 1}, first, count, row.data(), 1, count, &outside);
            EXPECT_EQ(bad.column, -1);
            int64_t n_outside = 0;
            for (int64_t i = first; i < first + count; ++i) {
                EXPECT_EQ(row[static_cast<size_t>(i - first)], static_cast<float>(i) / 2);
                n_outside += i < 3 || i > 27;
            }
            EXPECT_EQ(outside.n, n_outside);
        }
    }
}

TEST(Lattices, NameTheFirstBadPoint) {
    BlockColumn block;
    block.place(12) = INFINITY;
    block.place(16) = NAN;
    float row[30];
    Outside outside;
    const BadValue read = gather<float>({&block.column, 1}, 4, 26, row, 1, 26, &outside);
    EXPECT_EQ(read.column, 0);
    EXPECT_EQ(read.point, 12);
    std::fill_n(row, 30, 1.0f);
    row[9] = INFINITY;
    row[20] = NAN;
    const BadValue written = scatter<float>(row, 1, 26, {&block.column, 1}, 4, 26);
    EXPECT_EQ(written.column, 0);
    EXPECT_EQ(written.point, 13);
    EXPECT_TRUE(std::isnan(block.place(13)));
    EXPECT_EQ(block.place(14), 2);
    EXPECT_EQ(block.place(3), 3);
}

TEST(Lattices, AreFilledWithNanAtTheirPointsOnly) {
    BlockColumn block;
    std::fill(block.memory.begin(), block.memory.end(), 7);
    fill_nan({&block.column, 1}, block.n);
    int64_t n_nan = 0;
    for (const double value : block.memory) n_nan += std::isnan(value);
    EXPECT_EQ(n_nan, block.n);
    for (int64_t i = 0; i < block.n; ++i) EXPECT_TRUE(std::isnan(block.place(i)));
}

TEST(Lattices, WithOneStrideBecomePlainColumns) {
    double data[64] = {};
    const auto lattice_of = [&](std::vector<int64_t> shape, std::vector<int64_t> stride) {
        surrogate_block block{};
        block.data = data;
        block.n_dim = static_cast<int32_t>(shape.size());
        std::ranges::copy(shape, block.shape);
        std::ranges::copy(stride, block.stride);
        block.dtype = SURROGATE_FLOAT64;
        check_block(block, "block");
        return column_of(block);
    };
    const Column line = lattice_of({4, 3, 1, 2}, {2, 8, 5, 24});
    EXPECT_EQ(line.lattice.n_dim, 0);
    EXPECT_EQ(line.stride, 2);
    EXPECT_EQ(lattice_of({1, 6}, {1, 7}).stride, 7);
    EXPECT_EQ(lattice_of({1, 1}, {9, 9}).lattice.n_dim, 0);
    EXPECT_EQ(lattice_of({4, 0}, {1, 9}).lattice.n_dim, 0);
    const Column planes = lattice_of({2, 3, 2, 2}, {1, 2, 20, 40});
    EXPECT_EQ(planes.lattice.n_dim, 2);
    EXPECT_EQ(planes.lattice.shape[0], 6);
    EXPECT_EQ(planes.lattice.shape[1], 4);
    EXPECT_EQ(planes.lattice.stride[1], 20);
}

TEST(Columns, WithRowsAreReadAndWrittenInTheirOrder) {
    // More points than a tile, in another order, of float and double.
    const int64_t n = 2 * kernels::tile_points + 6;  // prime to 7
    std::vector<int64_t> rows(static_cast<size_t>(n));
    std::vector<float> floats(static_cast<size_t>(2 * n));
    for (int64_t i = 0; i < n; ++i) rows[static_cast<size_t>(i)] = i * 7 % n;
    for (size_t i = 0; i < floats.size(); ++i) floats[i] = static_cast<float>(i);
    std::vector<double> doubles(floats.begin(), floats.end());
    for (const bool is_double : {false, true}) {
        Column column;
        column.data = is_double ? static_cast<void*>(doubles.data()) : floats.data();
        column.is_double = is_double;
        column.stride = 2;
        column.rows = rows.data();
        column.mean = 1;
        column.std = 2;
        column.max = 2.0 * static_cast<double>(n) - 3;
        std::vector<float> row(static_cast<size_t>(n));
        Outside outside;
        EXPECT_EQ(gather<float>({&column, 1}, 3, n - 3, row.data(), 1, n, &outside).column, -1);
        for (size_t i = 3; i < row.size(); ++i)
            EXPECT_EQ(row[i - 3], (static_cast<float>(2 * rows[i]) - 1) / 2);
        EXPECT_EQ(outside.n, 1);
        row.assign(row.size(), 4);
        EXPECT_EQ(scatter<float>(row.data(), 1, n, {&column, 1}, 0, n).column, -1);
        for (int64_t i = 0; i < n; ++i) {
            EXPECT_EQ(load(column, i), 9);
            const auto skipped = static_cast<size_t>(2 * i + 1);
            EXPECT_EQ(is_double ? doubles[skipped] : floats[skipped], 2 * i + 1);
        }
    }
    doubles[2 * rows[kernels::tile_points + 2]] = NAN;
    Column column{doubles.data(), 2, true};
    column.rows = rows.data();
    std::vector<float> row(static_cast<size_t>(n));
    Outside outside;
    EXPECT_EQ(gather<float>({&column, 1}, 1, n - 1, row.data(), 1, n, &outside).point,
              kernels::tile_points + 2);
}

TEST(OutsideCounts, OfThreadsAreJoined) {
    OutsideCounts counts(3, 2);
    counts.of(0)[0].add(13, 3, 12);
    counts.of(1)[0].add(1, 3, 12);
    counts.of(2)[0].add(14, 3, 12);
    counts.of(2)[1].add(-5, 0, 1);
    const std::span<const Outside> all = counts.join();
    ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(all[0].n, 3);
    EXPECT_EQ(all[0].worst, 14);  // as far as 1 is: the larger of both
    EXPECT_EQ(all[1].n, 1);
    EXPECT_EQ(all[1].worst, -5);
    EXPECT_EQ(counts.join()[0].n, 3) << "joined once";
    counts.clear();
    EXPECT_EQ(counts.join()[0].n, 0);
}

TEST(OutsideCounts, DistancesOfTheLargestNumbersDoNotOverflow) {
    const surrogate::test::TrapGuard guard;
    Outside outside;
    constexpr double huge = std::numeric_limits<double>::max();
    outside.add(huge, -huge, -huge);
    outside.add(0, -huge, -huge);
    EXPECT_EQ(outside.worst, huge);
}

}  // namespace
}  // namespace surrogate::impl
