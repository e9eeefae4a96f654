// SPDX-License-Identifier: Apache-2.0
// HEPT's own passes on devices, compiled for the host: orders against the host's, hashes bit by
// bit, sums of blocks against double.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "kernels/base/buffer.hpp"
#include "kernels/hept/hept_device.hpp"
#include "tests/kernels/base/target.hpp"

namespace surrogate::kernels::hept::test {
namespace {

using surrogate::kernels::test::generator;

const DeviceProperties device;

size_t at(int64_t i) {
    return static_cast<size_t>(i);
}

// ---- orders ----

/// Rows whose tokens lie in cells of such sizes, each row in another way.
struct CellProblem {
    CellProblem(const std::vector<int64_t>& sizes_, int64_t n_row_, std::mt19937& random)
        : sizes(sizes_),
          n_row(n_row_),
          n_token(std::accumulate(sizes.begin(), sizes.end(), int64_t{0})),
          n_member(n_token + 3),
          n_place(n_token + 5) {
        std::vector<int32_t> tokens(at(n_token));
        std::iota(tokens.begin(), tokens.end(), 0);
        for (int32_t row = 0; row < n_row; ++row) {
            std::ranges::shuffle(tokens, random);
            int32_t begin = 0;
            for (const int64_t size : sizes) {
                const auto n = static_cast<int32_t>(size);
                std::sort(tokens.begin() + begin, tokens.begin() + begin + n);
                // Places of cells in another order than their members.
                add({n_token - begin - n + 2, row, begin, n});
                begin += n;
            }
            members.insert(members.end(), tokens.begin(), tokens.end());
            members.resize(members.size() + 3, -1);  // of no cell
        }
        orders.assign(at(2 * n_row * n_place), -1);
        keys.resize(at(4 * n_key));
    }

    void add(const DeviceCell& cell) {
        cells.push_back(cell);
        if (cell.n <= warp_cell) {
            small.push_back(cell);
        } else if (cell.n <= largest_chunk) {
            middle.push_back(cell);
        } else {
            large.push_back({cell, n_key});
            for (int32_t first = 0; first < cell.n; first += largest_chunk)
                parts.push_back({n_key + first, cell.row, cell.begin + first,
                                 std::min<int32_t>(largest_chunk, cell.n - first)});
            n_key += cell.n;
        }
    }

    void run() {
        OrderArgs args;
        args.n_row = n_row;
        args.n_token = n_token;
        args.n_member = n_member;
        args.n_place = n_place;
        args.members = members.data();
        args.hashes = hashes.data();
        args.orders = orders.data();
        args.small = small.data();
        args.n_small = std::ssize(small);
        args.middle = middle.data();
        args.n_middle = std::ssize(middle);
        for (const DeviceCell& cell : middle)
            args.largest_middle = std::max<int64_t>(args.largest_middle, cell.n);
        args.parts = parts.data();
        args.n_part = std::ssize(parts);
        args.large = large.data();
        args.n_large = std::ssize(large);
        for (const DeviceLargeCell& cell : large)
            args.largest = std::max<int64_t>(args.largest, cell.cell.n);
        args.n_key = n_key;
        args.keys = keys.data();
        cuda::kernels().load(device, Operand::fp32, device_head(4, 2));
        cuda::kernels().order(device, args, nullptr);
    }

    /// As order_cell() of the host.
    std::vector<int32_t> expected() const {
        std::vector<int32_t> want(orders.size(), -1);
        std::vector<uint64_t> scratch(at(2 * n_token));
        for (int64_t which = 0; which < 2; ++which) {
            for (const DeviceCell& cell : cells) {
                const int64_t row = which * n_row + cell.row;
                order_cell({members.data() + cell.row * n_member + cell.begin, at(cell.n)},
                           hashes.data() + row * n_token, 0, cell.n, scratch,
                           want.data() + row * n_place + cell.to);
            }
        }
        return want;
    }

    std::vector<int64_t> sizes;
    int64_t n_row, n_token, n_member, n_place, n_key = 0;
    std::vector<int32_t> members, orders;
    std::vector<uint32_t> hashes;
    std::vector<uint64_t> keys;
    std::vector<DeviceCell> cells, small, middle, parts;
    std::vector<DeviceLargeCell> large;
};

const std::vector<std::vector<int64_t>> cell_sizes = {
    {1},                         // the smallest
    {1, 2, 31, 32, 33, 64, 65},  // around a warp
    {500, 100, 257, 3},          // as published
    {4096, 1, 4097},             // around what a block of threads sorts
    {8192, 8193, 40},            // merged once, and twice
    {20001},                     // several times, with an odd run at the end
};

TEST(HeptCudaOrder, IsThatOfTheHost) {
    auto random = generator();
    std::normal_distribution<float> normal;
    for (const std::vector<int64_t>& sizes : cell_sizes) {
        CellProblem problem(sizes, 2, random);
        // Few values: mostly ties, which keep the order of members.
        for (const float width : {0.0F, 1.0F, 1e4F}) {
            SCOPED_TRACE(std::to_string(sizes[0]) + " .., width " + std::to_string(width));
            problem.hashes.clear();
            for (int64_t i = 0; i < 2 * 2 * problem.n_token; ++i)
                problem.hashes.push_back(ordered_bits(std::round(width * normal(random))));
            std::ranges::fill(problem.orders, -1);
            problem.run();
            ASSERT_EQ(problem.orders, problem.expected());
        }
    }
}

/// NaN in a layer must leave the orders permutations of the tokens.
TEST(HeptCudaOrder, TakesAnyBits) {
    auto random = generator();
    CellProblem problem({7, 200, 5000}, 1, random);
    for (int64_t i = 0; i < 2 * problem.n_token; ++i)
        problem.hashes.push_back(i % 3 == 0 ? ~0U : static_cast<uint32_t>(random()));
    problem.run();
    EXPECT_EQ(problem.orders, problem.expected());
}

// ---- rows, hashes, sums ----

struct Sizes {
    int64_t d, n_coordinate, n_head, n_table, n_token;
    std::string text() const {
        return "d " + std::to_string(d) + ", D " + std::to_string(n_coordinate) + ", heads " +
               std::to_string(n_head) + ", tables " + std::to_string(n_table) + ", tokens " +
               std::to_string(n_token);
    }
};
const std::vector<Sizes> all_sizes = {
    {24, 6, 3, 3, 41},  // as published
    {1, 2, 1, 1, 1},    // the smallest
    {8, 4, 2, 2, 16},   // nothing padded, one tile
    {7, 3, 5, 1, 33},   // everything padded
    {32, 8, 1, 2, 20}, {40, 5, 1, 1, 17}, {64, 8, 2, 5, 19},
};

Buffer<float> random_floats(int64_t n, double size, std::mt19937& random) {
    std::normal_distribution<float> normal;
    Buffer<float> values(n);
    for (float& x : values) x = static_cast<float>(size) * normal(random);
    return values;
}

/// Rows and hashes of random projections.
struct RowProblem {
    RowProblem(const Sizes& sizes, double size, std::mt19937& random)
        : s(sizes),
          head(device_head(s.d, s.n_coordinate)),
          n_row_token(padded_rows(s.n_token)),
          width(round_up(3 * s.n_head * head.channel_width, 16)),
          qkv(random_floats(n_row_token * width, 1, random)),
          x(random_floats(n_row_token * most_coordinates, 1, random)),
          scale(random_floats(s.n_head * s.n_coordinate, size, random)),
          alpha(random_floats(s.n_head * s.n_table * (s.d + s.n_coordinate), 1, random)),
          rows(s.n_head * s.n_token * head.stride()),
          hashes(2 * s.n_table * s.n_head * s.n_token) {
        for (int64_t token = 0; token < n_row_token; ++token)
            for (int64_t c = 0; c < width; ++c)
                if (c % head.channel_width >= s.d) qkv[fragment_index(token, c, width)] = 0;
    }

    AugmentArgs args() {
        AugmentArgs a;
        a.head = head;
        a.n_head = static_cast<int32_t>(s.n_head);
        a.n_table = static_cast<int32_t>(s.n_table);
        a.n_token = s.n_token;
        a.qkv = qkv.data();
        a.width = width;
        a.coordinates = x.data();
        a.scale = scale.data();
        a.alpha = alpha.data();
        a.rows = rows.data();
        a.hashes = hashes.data();
        a.findings = &findings;
        return a;
    }
    void augment() {
        cuda::kernels().load(device, Operand::fp32, head);
        cuda::kernels().augment(device, args(), nullptr);
    }

    /// Returns numbers of a token: channel c of part 0 (q), 1 (k) or 2 (v), and s x.
    float channel(int64_t h, int64_t token, int64_t part, int64_t c) const {
        return qkv[fragment_index(token, (3 * h + part) * head.channel_width + c, width)];
    }
    float coordinate(int64_t h, int64_t token, int64_t r) const {
        return scale[h * s.n_coordinate + r] * x[fragment_index(token, r, most_coordinates)];
    }
    uint32_t hash(int64_t which, int64_t table, int64_t h, int64_t token) const {
        const float* factor = alpha.data() + (h * s.n_table + table) * (s.d + s.n_coordinate);
        double sum = 0;
        for (int64_t c = 0; c < s.d; ++c)
            sum = std::fma(double{channel(h, token, which, c)}, double{*factor++}, sum);
        for (int64_t r = 0; r < s.n_coordinate; ++r)
            sum = std::fma(double{coordinate(h, token, r)}, double{*factor++}, sum);
        return ordered_bits(static_cast<float>(sum));
    }

    Sizes s;
    DeviceHead head;
    int64_t n_row_token, width;
    Buffer<float> qkv, x, scale, alpha, rows;
    std::vector<uint32_t> hashes;
    DeviceFindings findings;
};

TEST(HeptCudaRows, HaveTheirNumbersAndHashesBitByBit) {
    auto random = generator();
    for (const Sizes& s : all_sizes) {
        SCOPED_TRACE(s.text());
        RowProblem problem(s, 3, random);
        problem.augment();
        EXPECT_EQ(problem.findings.not_finite, 0);
        const DeviceHead& head = problem.head;
        for (int64_t h = 0; h < s.n_head; ++h) {
            for (int64_t token = 0; token < s.n_token; ++token) {
                const float* row = problem.rows.data() + (h * s.n_token + token) * head.stride();
                for (int64_t r = 0; r < head.coordinate_width; ++r)
                    ASSERT_EQ(row[r], r < s.n_coordinate ? problem.coordinate(h, token, r) : 0.0F);
                row += head.coordinate_width;
                for (int64_t i = 0; i < 3 * head.channel_width; ++i)
                    ASSERT_EQ(row[i], problem.channel(h, token, i / head.channel_width,
                                                      i % head.channel_width));
                for (int64_t which = 0; which < 2; ++which)
                    for (int64_t table = 0; table < s.n_table; ++table)
                        ASSERT_EQ(
                            problem.hashes[at(
                                ((which * s.n_table + table) * s.n_head + h) * s.n_token + token)],
                            problem.hash(which, table, h, token));
            }
        }
    }
}

TEST(HeptCudaRows, ThatCannotBeSquaredAreFound) {
    auto random = generator();
    for (const auto& [value, is_found] :
         std::vector<std::pair<float, int>>{{0x1p62F, 0}, {0x1p63F, 1}, {INFINITY, 1}, {NAN, 1}}) {
        for (const int64_t part : {0, 1}) {  // queries, keys
            RowProblem problem({8, 3, 2, 2, 21}, 1, random);
            problem.qkv[fragment_index(20, (3 + part) * 8 + 5, problem.width)] = value;
            problem.augment();
            EXPECT_EQ(problem.findings.not_finite, is_found) << value << " in part " << part;
        }
        // Rows without a token count nowhere.
        RowProblem padded({8, 3, 2, 2, 21}, 1, random);
        padded.qkv[fragment_index(21, 8 + 5, padded.width)] = value;
        padded.augment();
        EXPECT_EQ(padded.findings.not_finite, 0);
    }
}

/// Sums of one token and head in double, and how far float may be from them: a difference and its
/// square are wrong by 2^-23 of the square, a sum of E by E 2^-24, the power of two by 2^-22; sums
/// over keys by their number.
struct ExactSums {
    std::vector<double> value, bound;
};

struct BlockProblem : RowProblem {
    BlockProblem(const Sizes& sizes, double size, int64_t block_size_, int64_t n_zero_key,
                 std::mt19937& random)
        : RowProblem(sizes, size, random), block_size(block_size_) {
        augment();
        for (int64_t row = 0; row < 2 * s.n_table * s.n_head; ++row) {
            std::vector<int32_t> order(at(s.n_token));
            std::iota(order.begin(), order.end(), 0);
            std::ranges::shuffle(order, random);
            orders.insert(orders.end(), order.begin(), order.end());
        }
        for (int64_t first = 0; first < s.n_token; first += block_size) {
            const auto n = static_cast<int32_t>(std::min(block_size, s.n_token - first));
            const bool is_short = n < block_size;
            blocks.push_back({first, n, is_short ? static_cast<int32_t>(n_zero_key) : 0});
        }
        sums = Buffer<float>(s.n_table * s.n_head * s.n_token * head.n_sum());
        std::ranges::fill(sums, std::numeric_limits<float>::quiet_NaN());
    }

    void attend() {
        AttendArgs a;
        a.head = head;
        a.n_head = static_cast<int32_t>(s.n_head);
        a.n_table = static_cast<int32_t>(s.n_table);
        a.n_token = a.n_place = s.n_token;
        a.blocks = blocks.data();
        a.n_block = std::ssize(blocks);
        a.block_size = block_size;
        a.rows = rows.data();
        a.orders = orders.data();
        a.sums = sums.data();
        cuda::kernels().attend(device, a, nullptr);
    }

    double square(int64_t h, int64_t query, int64_t key) const {
        double sum = 0;
        for (int64_t r = 0; r < s.n_coordinate; ++r)
            sum += std::pow(double{coordinate(h, query, r)} - double{coordinate(h, key, r)}, 2);
        for (int64_t c = 0; c < s.d; ++c)
            sum += std::pow(double{channel(h, query, 0, c)} - double{channel(h, key, 1, c)}, 2);
        return sum;
    }
    double zero_square(int64_t h, int64_t query) const {
        double sum = 0;
        for (int64_t r = 0; r < s.n_coordinate; ++r)
            sum += std::pow(double{coordinate(h, query, r)}, 2);
        for (int64_t c = 0; c < s.d; ++c) sum += std::pow(double{channel(h, query, 0, c)}, 2);
        return sum;
    }
    const int32_t* order(int64_t which, int64_t table, int64_t h) const {
        return orders.data() + ((which * s.n_table + table) * s.n_head + h) * s.n_token;
    }

    ExactSums exact(int64_t h, int64_t token) const {
        const auto n_query = static_cast<double>(s.d + s.n_coordinate);
        ExactSums sum{std::vector<double>(at(s.d + 1)), std::vector<double>(at(s.d + 1))};
        const auto add = [&](double square, double n, const auto& value_of, double n_key) {
            const double weight = n * std::exp(-square / 2);
            const double error =
                0x1p-24 * (4 + n_key + (n_query + 6) * square / 2) * weight + n * 0x1p-126;
            for (int64_t c = 0; c <= s.d; ++c) {
                sum.value[at(c)] += weight * value_of(c);
                sum.bound[at(c)] += error * std::abs(value_of(c));
            }
        };
        for (int64_t table = 0; table < s.n_table; ++table) {
            const int64_t place =
                std::find(order(0, table, h), order(0, table, h) + s.n_token, token) -
                order(0, table, h);
            const DeviceBlock& block = blocks[at(place / block_size)];
            const double n_key = block.n + 2.0 * static_cast<double>(s.n_table);
            for (int64_t j = block.first; j < block.first + block.n; ++j) {
                const int32_t key = order(1, table, h)[j];
                add(
                    square(h, token, key), 1,
                    [&](int64_t c) { return c == s.d ? 1.0 : double{channel(h, key, 2, c)}; },
                    n_key);
            }
            add(
                zero_square(h, token), block.n_zero_key,
                [&](int64_t c) { return c == s.d ? 1.0 : 0.0; }, n_key);
            sum.value[at(s.d)] += epsilon;
            sum.bound[at(s.d)] += epsilon * 0x1p-22;
        }
        return sum;
    }

    int64_t block_size;
    std::vector<int32_t> orders;
    std::vector<DeviceBlock> blocks;
    Buffer<float> sums;
};

/// Number c of the d + 1 of a token's sums in a table.
float& sum_of(Buffer<float>& sums, const RowProblem& problem, int64_t row, int64_t token,
              int64_t c) {
    const DeviceHead& head = problem.head;
    return sums[(row * problem.s.n_token + token) * head.n_sum() +
                (c == problem.s.d ? head.channel_width : c)];
}

void expect_exact(BlockProblem& problem) {
    const Sizes& s = problem.s;
    for (int64_t h = 0; h < s.n_head; ++h) {
        for (int64_t token = 0; token < s.n_token; ++token) {
            const ExactSums want = problem.exact(h, token);
            for (int64_t c = 0; c <= s.d; ++c) {
                float sum = 0;
                for (int64_t table = 0; table < s.n_table; ++table)
                    sum += sum_of(problem.sums, problem, table * s.n_head + h, token, c);
                const auto found = double{sum};
                ASSERT_LE(std::abs(found - want.value[at(c)]), want.bound[at(c)])
                    << "head " << h << ", token " << token << ", channel " << c << ": " << found
                    << " and " << want.value[at(c)];
            }
        }
    }
}

TEST(HeptCudaBlocks, HaveTheSumsOfTheirKeys) {
    auto random = generator();
    for (const Sizes& s : all_sizes) {
        for (const int64_t block_size : {1, 16, 100}) {
            for (const double size : {0.3, 3.0}) {
                SCOPED_TRACE(s.text() + ", blocks of " + std::to_string(block_size) + ", size " +
                             std::to_string(size));
                BlockProblem problem(s, size, block_size, 5, random);
                problem.attend();
                expect_exact(problem);
            }
        }
    }
}

TEST(HeptCudaBlocks, ShareBlocksOfThreadsAndAreCutIntoStrips) {
    auto random = generator();
    for (const auto& [n_token, block_size, d] : {
             std::tuple{300, 280, 4},   // three strips; more keys than shared memory takes at once
             std::tuple{430, 100, 24},  // three side by side, then two, the last of them short
             std::tuple{260, 128, 8},   // the longest without strips
             std::tuple{70, 10, 32},    // as many as shared memory takes
         }) {
        SCOPED_TRACE(block_size);
        BlockProblem problem({d, 3, 2, 2, n_token}, 0.5, block_size, 3, random);
        problem.attend();
        expect_exact(problem);
    }
}

// |Q|^2 near 4e6, and differences of size one: products would leave nothing of them.
TEST(HeptCudaBlocks, KeepSmallDifferencesOfLargeNumbers) {
    auto random = generator();
    BlockProblem problem({24, 6, 1, 1, 60}, 1, 60, 0, random);
    for (int64_t token = 0; token < problem.n_row_token; ++token)
        for (int64_t r = 0; r < problem.s.n_coordinate; ++r) {
            float& x = problem.x[fragment_index(token, r, most_coordinates)];
            x = 2000 / problem.scale[r] * (1 + 1e-4F * x);
        }
    for (float& value : problem.qkv) value *= 0.1F;
    problem.augment();
    ASSERT_GT(problem.zero_square(0, 7), 1e7);
    ASSERT_LT(problem.square(0, 7, 9), 10);
    problem.attend();
    expect_exact(problem);
}

TEST(HeptCudaBlocks, GiveAQueryTheSameBitsWhateverTheOthersAre) {
    auto random = generator();
    BlockProblem problem({24, 6, 1, 1, 64}, 0.5, 64, 0, random);
    problem.attend();
    const std::vector<float> before(problem.sums.begin(), problem.sums.end());
    std::reverse(problem.orders.begin(), problem.orders.begin() + 64);  // queries, not keys
    problem.attend();
    for (int64_t i = 0; i < problem.sums.size(); ++i) EXPECT_EQ(problem.sums[i], before[at(i)]);
}

// ---- sums between ranks, and to operands ----

// Rank A has tokens 0 .. 3, B computes some of their tables, as does C, which finds nothing to do.
TEST(HeptCudaSums, OfOtherRanksAreAddedAtHome) {
    auto random = generator();
    RowProblem home({5, 2, 2, 2, 4}, 1, random);
    const int64_t n = home.s.n_table * home.s.n_head * home.s.n_token * home.head.n_sum();
    Buffer<float> sums = random_floats(n, 1, random), away(n), nothing(n);
    std::ranges::copy(sums, away.begin());
    std::ranges::fill(nothing, std::numeric_limits<float>::quiet_NaN());
    const std::vector<DeviceSum> shared = {{0, 3}, {2, 1}, {3, 3}};  // computed at B
    const std::vector<DeviceShare> taken = {{shared[0], 0}, {shared[0], 3}, {shared[1], 4},
                                            {shared[1], 1}, {shared[2], 2}, {shared[2], 5}};
    std::vector<float> memory(at(6 * (home.s.d + 1)));
    DeviceFindings findings;
    ShareArgs args{.head = home.head, .n_token = home.s.n_token, .findings = &findings};
    const auto run = [&](ShareArgs::Step step, Buffer<float>& of) {
        args.step = step;
        args.sums = of.data();
        cuda::kernels().share(device, args, nullptr);
    };
    // B and C give.
    args.given = shared.data();
    args.n_given = 3;
    args.memory = memory.data();
    run(ShareArgs::Step::give, away);
    args.memory = memory.data() + 3 * (home.s.d + 1);
    run(ShareArgs::Step::clear, nothing);
    run(ShareArgs::Step::give, nothing);
    // A takes.
    args.n_given = 0;
    args.taken = taken.data();
    args.n_taken = 6;
    args.memory = memory.data();
    run(ShareArgs::Step::clear, sums);
    for (const DeviceSum& sum : shared)
        for (int64_t c = 0; c < home.head.n_sum(); ++c)
            EXPECT_EQ(sums[(sum.row * home.s.n_token + sum.token) * home.head.n_sum() + c], 0);
    run(ShareArgs::Step::take, sums);
    for (int64_t row = 0; row < home.s.n_table * home.s.n_head; ++row)
        for (int64_t token = 0; token < home.s.n_token; ++token)
            for (int64_t c = 0; c <= home.s.d; ++c)
                EXPECT_EQ(sum_of(sums, home, row, token, c), sum_of(away, home, row, token, c));
    EXPECT_EQ(findings.not_finite, 0);

    // A rank that has failed gives NaN, and who takes it finds that.
    findings.poisoned = 1;
    args.given = shared.data();
    args.n_given = 3;
    run(ShareArgs::Step::give, away);
    findings.poisoned = 0;
    run(ShareArgs::Step::take, sums);
    EXPECT_EQ(findings.not_finite, 1);
    EXPECT_TRUE(std::isnan(sum_of(sums, home, 0, 3, home.s.d)));
}

TEST(HeptCudaSums, OfTablesAreAddedInTheirOrder) {
    auto random = generator();
    for (const Sizes& s : all_sizes) {
        SCOPED_TRACE(s.text());
        RowProblem problem(s, 1, random);
        Buffer<float> sums =
            random_floats(s.n_table * s.n_head * s.n_token * problem.head.n_sum(), 1, random);
        const int64_t n_group = round_up(s.n_head * problem.head.channel_width / 8, 2);
        const int64_t n_own = std::max<int64_t>(1, s.n_token - 3);  // then ghost tokens
        const int64_t n_tile = row_tiles(n_own);
        // Single precision: a piece is the stream's.
        Buffer<float> heads(n_tile * tile_rows * n_group * 8);
        std::ranges::fill(heads, std::numeric_limits<float>::quiet_NaN());
        CombineArgs args;
        args.head = problem.head;
        args.n_head = static_cast<int32_t>(s.n_head);
        args.n_table = static_cast<int32_t>(s.n_table);
        args.n_token = s.n_token;
        args.n_own = n_own;
        args.sums = sums.data();
        args.to = heads.data();
        args.n_group = n_group;
        cuda::kernels().combine(device, args, nullptr);
        for (int64_t token = 0; token < n_tile * tile_rows; ++token) {
            for (int64_t channel = 0; channel < n_group * 8; ++channel) {
                const int64_t h = channel / problem.head.channel_width;
                const int64_t c = channel % problem.head.channel_width;
                float num = 0, den = 0;
                if (token < n_own && h < s.n_head && c < s.d) {
                    for (int64_t table = 0; table < s.n_table; ++table) {
                        num += sum_of(sums, problem, table * s.n_head + h, token, c);
                        den += sum_of(sums, problem, table * s.n_head + h, token, s.d);
                    }
                }
                const float want = num * (1.0F / (den == 0 ? 1.0F : den));
                if (h < s.n_head && c >= s.d && token < n_own) continue;  // times zero weights
                ASSERT_EQ(heads[fragment_index(token, channel, n_group * 8)], want)
                    << token << ", channel " << channel;
            }
        }
    }
}

}  // namespace
}  // namespace surrogate::kernels::hept::test
