// SPDX-License-Identifier: Apache-2.0
// Gradients and training of Sequoia with one sample over all ranks: the stored cases, bits on any
// ranks, partitions and threads, ranks that fail, memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/support/data_path.hpp"
#include "tests/support/family_ranks.hpp"
#include "tests/support/gradient_ranks.hpp"
#include "tests/support/sequoia_case.hpp"
#include "tests/support/sphere_models.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

using nlohmann::json;

constexpr const char* partitions[] = {"contiguous", "scattered", "uneven"};

surrogate_points points_of(const SequoiaCase& own) {
    static const int64_t no_id = 0;
    return {matrix(own.positions.data(), own.n, own.n_axis), own.n > 0 ? own.ids.data() : &no_id,
            nullptr, nullptr};
}

/// Gradients of 0.5 sum(y^2) of the points `own`, on the ranks of a context.
struct Gradients {
    Gradients(const std::string& path, const SequoiaCase& own, const GradientWay& way, Context on)
        : run(path, points_of(own), {own.features, own.tokens}, way, std::move(on)) {
        const TrapGuard traps;
        EXPECT_TRUE(run.evaluate());
        run.dy = run.y;
        EXPECT_TRUE(own.tokens.empty() ? run.backward_to_positions(dpositions, own.n_axis)
                                       : run.backward());
        EXPECT_TRUE(run.reduce());
    }

    GradientRun run;
    std::vector<double> dpositions;
};

class SequoiaRankGradients : public testing::TestWithParam<std::string> {
protected:
    void expect_stored(const char* partition, const GradientWay& way, double tolerance) const {
        SCOPED_TRACE(partition);
        const std::vector<int64_t> rows = own_rows(partition, points.n, world);
        const Gradients found(path, points.rows(rows), way, mpi_context(world));
        const auto compare = [&](const std::string& name, const std::vector<double>& expected,
                                 double scale, const std::vector<double>& values) {
            ASSERT_EQ(values.size(), expected.size()) << name;
            for (size_t i = 0; i < expected.size(); ++i)
                ASSERT_LE(std::abs(values[i] - expected[i]), (tolerance + 0x1p-24) * scale)
                    << name << " " << i;
        };
        const auto size_of = [](const std::string& name, const std::vector<double>& values) {
            double size = name.ends_with("W_k.bias") ? 1 : 0;  // 0 in truth
            for (const double value : values) size = std::max(size, std::abs(value));
            return size;
        };
        const std::string of_weights = "check/grad/", of_inputs = "check/grad_input/";
        for (const std::string& name : file.names()) {
            const std::vector<double> expected =
                name.starts_with("check/grad") ? file.tensor(name).values : std::vector<double>{};
            if (name.starts_with(of_weights)) {
                compare(name, expected, size_of(name, expected),
                        found.run.gradient(name.substr(of_weights.size())));
            } else if (name.starts_with(of_inputs)) {
                compare(name, table_rows(expected, rows, points.n), size_of(name, expected),
                        name.ends_with("positions") ? found.dpositions : found.run.dx);
            }
        }
    }

    const std::string path = stored_case("sequoia/" + GetParam());
    const GoldenFile file{path};
    const SequoiaCase points{file};
};

TEST_P(SequoiaRankGradients, AreTheStoredOnes) {
    for (const char* partition : partitions) {
        expect_stored(partition, {}, 1e-9);
        expect_stored(partition, {.reproducible = true, .order = impl::GradientOrder::exact}, 1e-9);
        expect_stored(partition, {.precision = "fp32", .queue = simd_queue(2)}, 1e-5);
    }
}

INSTANTIATE_TEST_SUITE_P(Files, SequoiaRankGradients,
                         testing::Values("points_small_grad", "points_features_grad",
                                         "sequence_grad"),
                         [](const auto& name) { return name.param; });

struct BitsCase {
    std::string name;
    json changes;
    int64_t n;
};

void PrintTo(const BitsCase& c, std::ostream* stream) {
    *stream << c.name;
}

/// Networks on trees of several blocks.
class SequoiaRankBits : public testing::TestWithParam<BitsCase> {};

TEST_P(SequoiaRankBits, AreThoseOfOneRank) {
    const BitsCase& c = GetParam();
    const bool is_sequence = c.changes.contains("vocab_size");
    const ModelOnDisk disk(
        sequoia_model(is_sequence ? small_sequence(c.changes) : small_sequoia(c.changes)));
    SequoiaCase points = is_sequence ? SequoiaCase::sequence(c.n) : SequoiaCase::wave(c.n);
    if (c.changes.contains("pos_enc") && !is_sequence && c.changes["pos_enc"] == "none")
        for (const float feature : wave(c.n * 16, 0.3)) points.features.push_back(feature);
    const GradientWay way{.precision = "fp32",
                          .reproducible = true,
                          .queue = simd_queue(),
                          .order = impl::GradientOrder::exact};
    const Gradients alone(disk.path(), points, way, Context());
    for (const char* partition : partitions) {
        SCOPED_TRACE(partition);
        GradientWay on_threads = way;
        on_threads.queue = simd_queue(partition == partitions[1] ? 3 : 1);
        const std::vector<int64_t> rows = own_rows(partition, c.n, world);
        const Gradients found(disk.path(), points.rows(rows), on_threads, mpi_context(world));
        EXPECT_EQ(found.run.total(), alone.run.total());
        EXPECT_EQ(found.dpositions, table_rows(alone.dpositions, rows, c.n));
        if (!is_sequence) {
            EXPECT_EQ(found.run.dx, table_rows(alone.run.dx, rows, c.n));
        }
    }
    // Plans that add in any order differ by rounding.
    const std::vector<int64_t> rows = own_rows("scattered", c.n, world);
    const Gradients fast(disk.path(), points.rows(rows), {.queue = {}}, mpi_context(world));
    const Gradients truth(disk.path(), points, {}, Context());
    double largest = 0;
    for (const double g : truth.run.total()) largest = std::max(largest, std::abs(g));
    for (size_t i = 0; i < truth.run.total().size(); ++i)
        ASSERT_NEAR(fast.run.sums.total()[i], truth.run.sums.total()[i], 1e-12 * largest) << i;
}

INSTANTIATE_TEST_SUITE_P(
    All, SequoiaRankBits,
    testing::Values(
        BitsCase{"Binary", {{"k", 2}, {"num_layers", 2}}, 3000}, BitsCase{"Ternary", {}, 2000},
        BitsCase{"TernaryTopDown", {{"seq_mode", "top-down"}}, 1700},
        BitsCase{"TernaryComplete", {{"seq_mode", "complete"}, {"num_layers", 2}}, 1700},
        BitsCase{"TernaryInterleaved", {{"seq_mode", "interleaved"}, {"num_layers", 2}}, 1700},
        BitsCase{"SixteenChildren", {{"k", 16}, {"num_layers", 2}}, 5000},
        BitsCase{"SixteenInterleaved",
                 {{"k", 16}, {"num_layers", 1}, {"seq_mode", "interleaved"}},
                 3000},
        BitsCase{"GroupsOfMoreThanATile", {{"k", 70}, {"num_layers", 1}}, 600},
        BitsCase{"ParentOnlyRepeat",
                 {{"k", 10}, {"ancestors", "parent"}, {"ragged", "repeat"}, {"num_layers", 2}},
                 2500},
        BitsCase{"WithoutChildren", {{"k", 16}, {"drop", {"children"}}, {"num_layers", 2}}, 700},
        BitsCase{"Features", {{"k", 16}, {"pos_enc", "none"}, {"num_layers", 1}}, 700},
        BitsCase{"MeanOfAll",
                 {{"k", 16}, {"probe_layer", "all"}, {"pooling_mode", "MEAN"}, {"num_layers", 1}},
                 700},
        BitsCase{"AllNodes", {{"k", 4}, {"probe_layer", "all"}, {"num_layers", 1}}, 700},
        BitsCase{"Root", {{"k", 16}, {"probe_layer", "root"}, {"num_layers", 2}}, 700},
        BitsCase{"Words",
                 {{"max_seq_len", 2000}, {"k", 4}, {"num_layers", 1}, {"vocab_size", 11}},
                 1500},
        BitsCase{"FewPoints", {}, 4}, BitsCase{"OnePoint", {}, 1}),
    [](const auto& c) { return c.param.name; });

TEST(SequoiaRankTraining, FollowsTheTraceOfPyTorch) {
    const GoldenFile file(stored_case("sequoia/points_train"));
    const SequoiaCase points(file);
    for (const char* partition : partitions) {
        for (const char* reproducible : {"false", "true"}) {
            const std::vector<int64_t> rows = own_rows(partition, points.n, world);
            const SequoiaCase own = points.rows(rows);
            expect_golden_trace(
                file, points_of(own), points.n_axis,
                table_rows(file.tensor("check/input/target").values, rows, points.n),
                mpi_context(world), reproducible);
        }
    }
}

TEST(SequoiaRankTraining, OfGroupsOfRanksHasTheBitsOfOneRank) {
    const GoldenFile file(stored_case("sequoia/points_train"));
    const SequoiaCase points(file);
    expect_groups_of_ranks(file, points, points_of, {}, file.tensor("check/input/target").values,
                           world);
}

TEST(SequoiaRankFaults, ReachAllRanks) {
    const TrapGuard traps;
    const SequoiaCase points{GoldenFile(stored_case("sequoia/points_features_grad"))};
    const SequoiaCase own = points.rows(own_rows("contiguous", points.n, world));
    GradientRun run(stored_case("sequoia/points_features_grad"), points_of(own),
                    {own.features, own.tokens}, {.precision = "fp32", .queue = simd_queue()},
                    mpi_context(world));
    expect_failures_reach_all_ranks(run, world);
}

TEST(SequoiaRankMemory, IsTakenByPlanning) {
    const ModelOnDisk disk(sequoia_model(small_sequoia({{"seq_mode", "complete"}})));
    const SequoiaCase points = SequoiaCase::wave(1600);
    const SequoiaCase own = points.rows(own_rows("scattered", points.n, world));
    Gradients first(disk.path(), own,
                    {.precision = "fp32",
                     .reproducible = true,
                     .queue = simd_queue(),
                     .order = impl::GradientOrder::exact},
                    mpi_context(world));
    expect_backward_takes_no_memory(first.run);
}

}  // namespace
}  // namespace surrogate::test
