// SPDX-License-Identifier: Apache-2.0
// Gradients and training of HEPT with one sample over all ranks: the stored cases, bits on any
// ranks, partitions and threads, ranks that fail, memory, the loss over pairs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/support/data_path.hpp"
#include "tests/support/family_ranks.hpp"
#include "tests/support/gradient_ranks.hpp"
#include "tests/support/hept_case.hpp"
#include "tests/support/hept_models.hpp"
#include "tests/support/sphere_models.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

using nlohmann::json;

constexpr const char* partitions[] = {"contiguous", "scattered", "uneven"};

surrogate_points points_of(const Hits& own) {
    static const double nothing = 0;
    static const int64_t none = 0;
    if (own.n > 0) return own.points();
    return {matrix(&nothing, 0, own.n_axis), &none, &none, nullptr};
}

/// Gradients of sum_n (sin(0.7 n) y_n + y_n^2 / 2) of these rows of `all`, on the ranks of a
/// context.
struct Gradients {
    Gradients(const std::string& path, const Hits& all, const std::vector<int64_t>& rows,
              const GradientWay& way, Context on)
        : own(all.rows(rows)), run(path, points_of(own), {own.features, {}}, way, std::move(on)) {
        const TrapGuard traps;
        EXPECT_TRUE(run.evaluate());
        const int64_t n_out = run.n_out();
        for (size_t i = 0; i < run.y.size(); ++i) {
            const auto at = static_cast<int64_t>(i);
            const int64_t number = rows[static_cast<size_t>(at / n_out)] * n_out + at % n_out;
            run.dy[i] = std::sin(0.7 * static_cast<double>(number)) + run.y[i];
        }
        EXPECT_TRUE(run.backward_to_positions(dpositions, own.n_axis));
        EXPECT_TRUE(run.reduce());
    }

    const Hits own;
    GradientRun run;
    std::vector<double> dpositions;
};

std::vector<int64_t> all_rows(int64_t n) {
    std::vector<int64_t> rows(static_cast<size_t>(n));
    std::iota(rows.begin(), rows.end(), int64_t{0});
    return rows;
}

class HeptRankGradients : public testing::TestWithParam<std::string> {
protected:
    /// Relative to the largest entry of each gradient.
    void expect_stored(const char* partition, const GradientWay& way, double tolerance) const {
        SCOPED_TRACE(partition);
        const std::vector<int64_t> rows = own_rows(partition, hits.n, world);
        const Gradients found(path, hits, rows, way, mpi_context(world));
        const std::string prefix = "check/grad/";
        int n_compared = 0;
        for (const std::string& name : file.names()) {
            if (!name.starts_with(prefix)) continue;
            const std::string weight = name.substr(prefix.size());
            const std::vector<double> all = file.tensor(name).values;
            double scale = 0;
            for (const double value : all) scale = std::max(scale, std::abs(value));
            const bool is_input = weight == "x" || weight == "coords";
            const std::vector<double> expected = is_input ? table_rows(all, rows, hits.n) : all;
            const std::vector<double> values = weight == "x"        ? found.run.dx
                                               : weight == "coords" ? found.dpositions
                                                                    : found.run.gradient(weight);
            ASSERT_EQ(values.size(), expected.size()) << weight;
            for (size_t i = 0; i < expected.size(); ++i)
                ASSERT_LE(std::abs(values[i] - expected[i]), tolerance * scale)
                    << weight << " " << i;
            ++n_compared;
        }
        EXPECT_GE(n_compared, 50);
    }

    const std::string path = stored_case("hept/" + GetParam());
    const GoldenFile file{path};
    const Hits hits{file};
};

TEST_P(HeptRankGradients, AreTheStoredOnes) {
    for (const char* partition : partitions) {
        expect_stored(partition, {}, 1e-7);
        expect_stored(partition, {.reproducible = true, .order = impl::GradientOrder::exact}, 1e-7);
        expect_stored(partition, {.precision = "fp32", .queue = simd_queue(2)}, 1e-4);
    }
}

INSTANTIATE_TEST_SUITE_P(Files, HeptRankGradients,
                         testing::Values("tiny", "odd_zero", "clouds_duplicate", "masked"),
                         [](const auto& name) { return name.param; });

struct BitsCase {
    std::string name;
    json changes;
    int64_t n, n_cloud = 1;
    bool drops = false;
};

void PrintTo(const BitsCase& c, std::ostream* stream) {
    *stream << c.name;
}

class HeptRankBits : public testing::TestWithParam<BitsCase> {};

TEST_P(HeptRankBits, AreThoseOfOneRank) {
    const BitsCase& c = GetParam();
    const json network = small_hept(c.changes);
    const ModelOnDisk disk(hept_network(network).bytes());
    Hits hits = Hits::random(network, c.n);
    for (int64_t i = 0; i < c.n && c.n_cloud > 1; ++i) hits.clouds.push_back(i * i % c.n_cloud);
    GradientWay way{.precision = "fp32",
                    .reproducible = true,
                    .queue = simd_queue(),
                    .order = impl::GradientOrder::exact};
    if (c.drops) way.draw = impl::DropoutDraw{7, 3};
    const Gradients alone(disk.path(), hits, all_rows(c.n), way, Context());
    // Classes of particles have no gradient.
    const auto expect_equal = [](const std::vector<double>& found,
                                 const std::vector<double>& expected) {
        ASSERT_EQ(found.size(), expected.size());
        for (size_t i = 0; i < found.size(); ++i)
            ASSERT_TRUE(found[i] == expected[i] ||
                        (std::isnan(found[i]) && std::isnan(expected[i])))
                << i << ": " << found[i] << ", expected " << expected[i];
    };
    for (const char* partition : partitions) {
        SCOPED_TRACE(partition);
        way.queue = simd_queue(partition == partitions[1] ? 3 : 1);
        const std::vector<int64_t> rows = own_rows(partition, c.n, world);
        const Gradients found(disk.path(), hits, rows, way, mpi_context(world));
        EXPECT_EQ(found.run.total(), alone.run.total());
        expect_equal(found.dpositions, table_rows(alone.dpositions, rows, c.n));
        expect_equal(found.run.dx, table_rows(alone.run.dx, rows, c.n));
    }
}

INSTANTIATE_TEST_SUITE_P(
    All, HeptRankBits,
    testing::Values(BitsCase{"Masked", {}, 350}, BitsCase{"Zero", {{"padding", "zero"}}, 203},
                    BitsCase{"Duplicate", {{"padding", "duplicate"}}, 203},
                    BitsCase{"ManyCloudsDuplicate", {{"padding", "duplicate"}}, 301, 17},
                    BitsCase{"ManyCloudsMasked", {{"block_size", 20}}, 301, 9},
                    BitsCase{"LongBlocks", {{"block_size", 100}, {"h_dim", 16}}, 1000},
                    BitsCase{"Pileup", {{"task", "pileup"}, {"num_classes", nullptr}}, 150},
                    BitsCase{"Dropout", {{"padding", "duplicate"}, {"dropout", 0.2}}, 203, 1, true},
                    BitsCase{"FewPoints", {}, 3},
                    BitsCase{"OnePoint", {{"padding", "duplicate"}}, 1}),
    [](const auto& c) { return c.param.name; });

TEST(HeptRankTraining, OfGroupsOfRanksHasTheBitsOfOneRank) {
    const GoldenFile file(stored_case("hept/odd_zero"));
    const Hits hits(file);
    expect_groups_of_ranks(file, hits, points_of, hits.features,
                           file.tensor("check/output64/y").values, world);
}

TEST(HeptRankFaults, ReachAllRanks) {
    const TrapGuard traps;
    const std::string path = stored_case("hept/masked");
    const Hits hits{GoldenFile(path)};
    const Hits own = hits.rows(own_rows("contiguous", hits.n, world));
    GradientRun run(path, points_of(own), {own.features, {}},
                    {.precision = "fp32", .queue = simd_queue()}, mpi_context(world));
    expect_failures_reach_all_ranks(run, world);
}

TEST(HeptRankMemory, IsTakenByPlanning) {
    const json network = small_hept({{"padding", "duplicate"}});
    const ModelOnDisk disk(hept_network(network).bytes());
    const Hits hits = Hits::random(network, 301);
    Gradients first(disk.path(), hits, own_rows("scattered", hits.n, world),
                    {.precision = "fp32",
                     .reproducible = true,
                     .queue = simd_queue(),
                     .order = impl::GradientOrder::exact},
                    mpi_context(world));
    expect_backward_takes_no_memory(first.run);
}

}  // namespace
}  // namespace surrogate::test
