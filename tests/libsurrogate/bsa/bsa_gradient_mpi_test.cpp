// SPDX-License-Identifier: Apache-2.0
// Gradients and training of Ball Sparse Attention and Erwin with one sample over all ranks: the
// stored cases, bits on any ranks, partitions and threads, ranks that fail, memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/support/bsa_models.hpp"
#include "tests/support/data_path.hpp"
#include "tests/support/family_ranks.hpp"
#include "tests/support/golden_writer.hpp"
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

/// Inputs of points, with edges to each from its neighbors by number and from one far away, if any.
GivenInputs inputs_of(const SequoiaCase& own, int64_t n, bool has_edges) {
    GivenInputs given{own.features, {}, has_edges};
    for (const int64_t point : own.ids) {
        if (!has_edges || point % 5 == 3) continue;  // a point without edges
        for (const int64_t from : {point, point + 1, point + n - 1, 7 * point + 3}) {
            given.sources.push_back(from % n);
            given.targets.push_back(point);
        }
    }
    return given;
}

/// Gradients of 0.5 sum(y^2) of the points `own`, on the ranks of a context.
struct Gradients {
    Gradients(const std::string& path, const SequoiaCase& own, const GradientWay& way, Context on)
        : Gradients(path, own, {own.features, {}}, way, std::move(on)) {}
    Gradients(const std::string& path, const SequoiaCase& own, const GivenInputs& given,
              const GradientWay& way, Context on)
        : run(path, points_of(own), given, way, std::move(on)) {
        const TrapGuard traps;
        EXPECT_TRUE(run.evaluate());
        run.dy = run.y;
        EXPECT_TRUE(run.backward_to_positions(dpositions, own.n_axis));
        EXPECT_TRUE(run.reduce());
    }

    GradientRun run;
    std::vector<double> dpositions;
};

class BsaRankGradients : public testing::TestWithParam<std::string> {
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
            double size = name.ends_with("k_compress_mlp.2.bias") ? 1 : 0;  // 0 in truth
            for (const double value : values) size = std::max(size, std::abs(value));
            return size;
        };
        const std::string of_weights = "check/grad/", of_inputs = "check/grad_input/";
        int n_compared = 0;
        for (const std::string& name : file.names()) {
            if (!name.starts_with("check/grad")) continue;
            const std::vector<double> expected = file.tensor(name).values;
            if (name.starts_with(of_weights)) {
                compare(name, expected, size_of(name, expected),
                        found.run.gradient(name.substr(of_weights.size())));
            } else if (name.starts_with(of_inputs)) {
                compare(name, table_rows(expected, rows, points.n), size_of(name, expected),
                        name.ends_with("positions") ? found.dpositions : found.run.dx);
            }
            ++n_compared;
        }
        EXPECT_GT(n_compared, 20);
    }

    const std::string path = stored_case("bsa/" + GetParam());
    const GoldenFile file{path};
    const SequoiaCase points{file};
};

TEST_P(BsaRankGradients, AreTheStoredOnes) {
    for (const char* partition : partitions) {
        expect_stored(partition, {}, 1e-9);
        expect_stored(partition, {.saves_less = true}, 1e-9);
        expect_stored(partition, {.reproducible = true, .order = impl::GradientOrder::exact}, 1e-9);
        expect_stored(partition, {.precision = "fp32", .queue = simd_queue(2)}, 1e-4);
    }
}

INSTANTIATE_TEST_SUITE_P(Files, BsaRankGradients,
                         testing::Values("bsa_small_grad", "bsa_group_compression_grad",
                                         "bsa_mean_static_sigma_grad", "bsa_features_rotated_ball",
                                         "erwin_fourier_grad", "erwin_features_grad",
                                         "erwin_linear_grad"),
                         [](const auto& name) { return name.param; });

struct BitsCase {
    std::string name;
    json changes, attention;
    int64_t n;
};

void PrintTo(const BitsCase& c, std::ostream* stream) {
    *stream << c.name;
}

/// Compares the gradients of reproducible plans with one rank bit by bit.
void expect_bits_of_one_rank(const std::string& model, const SequoiaCase& points, bool has_edges) {
    const ModelOnDisk disk(model);
    const auto gradients = [&](const SequoiaCase& own, const GradientWay& way, Context on) {
        return Gradients(disk.path(), own, inputs_of(own, points.n, has_edges), way, std::move(on));
    };
    const GradientWay way{.precision = "fp32",
                          .reproducible = true,
                          .queue = simd_queue(),
                          .order = impl::GradientOrder::exact};
    const Gradients alone = gradients(points, way, Context());
    for (const char* partition : partitions) {
        SCOPED_TRACE(partition);
        GradientWay on_threads = way;
        on_threads.queue = simd_queue(partition == partitions[1] ? 3 : 1);
        on_threads.saves_less = partition == partitions[2];
        const std::vector<int64_t> rows = own_rows(partition, points.n, world);
        const Gradients found = gradients(points.rows(rows), on_threads, mpi_context(world));
        EXPECT_EQ(found.run.y, table_rows(alone.run.y, rows, points.n));
        EXPECT_EQ(found.run.total(), alone.run.total());
        EXPECT_EQ(found.dpositions, table_rows(alone.dpositions, rows, points.n));
        EXPECT_EQ(found.run.dx, table_rows(alone.run.dx, rows, points.n));
    }
    // Plans that add in any order differ by rounding.
    const std::vector<int64_t> rows = own_rows("scattered", points.n, world);
    const Gradients fast = gradients(points.rows(rows), {.queue = {}}, mpi_context(world));
    const Gradients truth = gradients(points, {}, Context());
    double largest = 0;
    for (const double g : truth.run.total()) largest = std::max(largest, std::abs(g));
    for (size_t i = 0; i < truth.run.total().size(); ++i)
        ASSERT_NEAR(fast.run.sums.total()[i], truth.run.sums.total()[i], 1e-12 * largest) << i;
}

SequoiaCase with_two_features(SequoiaCase points) {
    for (const float feature : wave(points.n * 2, 0.3)) points.features.push_back(feature);
    return points;
}

class BsaRankBits : public testing::TestWithParam<BitsCase> {};

TEST_P(BsaRankBits, AreThoseOfOneRank) {
    const BitsCase& c = GetParam();
    SequoiaCase points = SequoiaCase::wave(c.n);
    if (c.changes.contains("c_in")) points = with_two_features(points);
    expect_bits_of_one_rank(bsa_network(small_bsa(c.changes, c.attention)).bytes(), points, false);
}

const json group_compression = {{"use_coarse_q_attn", true}};

INSTANTIATE_TEST_SUITE_P(
    All, BsaRankBits,
    testing::Values(
        BitsCase{"Canonical", {{"depth", 2}}, {}, 400},
        BitsCase{"SmallBalls", {{"ball_size", 4}, {"depth", 2}}, {}, 200},
        BitsCase{"Features", {{"pos_enc", "none"}, {"c_in", 2}, {"depth", 2}}, {}, 120},
        BitsCase{"Linear", {{"pos_enc", "linear"}, {"c_out", 2}, {"depth", 1}}, {}, 120},
        BitsCase{"GroupCompression", {{"depth", 2}}, group_compression, 300},
        BitsCase{"GroupCompressionOfLargeBalls",
                 {{"ball_size", 512}, {"depth", 1}},
                 group_compression,
                 1100},
        BitsCase{"LargeBalls",
                 {{"ball_size", 128}, {"depth", 2}},
                 {{"compress_block_size", 8},
                  {"group_selection_size", 8},
                  {"compress_mlp_expand_factor", 0.5}},
                 1000},
        BitsCase{"MeanStaticGatesSigma",
                 {{"sigma_trainable", true}, {"depth", 2}},
                 {{"use_compress_mlp", false}, {"use_token_gated_attention", false}},
                 300},
        BitsCase{"NoGroupSelection", {{"depth", 2}}, {{"use_group_selection", false}}, 120},
        BitsCase{"GroupsOfTwoBlocks", {{"depth", 2}}, {{"group_selection_size", 8}}, 120},
        BitsCase{"GroupsOfMoreThanATile",
                 {{"ball_size", 128}, {"depth", 2}},
                 {{"compress_block_size", 128},
                  {"group_selection_size", 128},
                  {"use_compress_mlp", false}},
                 600},
        BitsCase{"MoreChoicesThanBlocks", {}, {{"selected_blocks_number", 9}}, 30},
        BitsCase{"RotatedBalls", {{"rotated_order", "ball"}, {"depth", 2}}, {}, 120},
        BitsCase{"Balls", {{"attention_type", "ball"}, {"sigma_trainable", true}}, {}, 300},
        BitsCase{"Full", {{"attention_type", "global"}, {"depth", 2}}, {}, 300},
        BitsCase{"FewPoints", {}, {}, 5}, BitsCase{"OnePoint", {}, {}, 1}),
    [](const auto& c) { return c.param.name; });

json small_erwin(const json& changes = json::object()) {
    const json network = {{"c_in", 2},
                          {"c_hidden", {6, 8}},
                          {"ball_sizes", {16, 8}},
                          {"enc_num_heads", {2, 1}},
                          {"enc_depths", {2, 2}},
                          {"dec_num_heads", {3}},
                          {"dec_depths", {2}},
                          {"strides", {2}},
                          {"rotate", 45},
                          {"mlp_ratio", 2},
                          {"mp_steps", 2},
                          {"neighbors", 5},
                          {"c_out", 2}};
    return {{"format", 1}, {"family", "erwin"}, {"network", changed(network, changes)}};
}

class ErwinRankBits : public testing::TestWithParam<BitsCase> {};

TEST_P(ErwinRankBits, AreThoseOfOneRank) {
    const BitsCase& c = GetParam();
    SequoiaCase points = SequoiaCase::wave(c.n);
    if (!c.changes.contains("pos_enc")) points = with_two_features(points);
    expect_bits_of_one_rank(bsa_model(small_erwin(c.changes)).bytes(), points,
                            c.changes.contains("neighbors"));
}

INSTANTIATE_TEST_SUITE_P(
    All, ErwinRankBits,
    testing::Values(BitsCase{"Nearest", {}, {}, 400},
                    BitsCase{"Edges", {{"neighbors", 0}}, {}, 200},
                    BitsCase{"Linear", {{"pos_enc", "linear"}}, {}, 120},
                    BitsCase{"Fourier", {{"pos_enc", "fourier"}, {"strides", {4}}}, {}, 250},
                    BitsCase{"LargeBalls", {{"ball_sizes", {128, 256}}}, {}, 1500},
                    BitsCase{"NothingPooled", {{"c_hidden", {6, 6}}, {"strides", {1}}}, {}, 100},
                    BitsCase{"NoMessages", {{"mp_steps", 0}, {"c_out", 0}}, {}, 100},
                    BitsCase{"FewPoints", {}, {}, 5}, BitsCase{"OnePoint", {}, {}, 1}),
    [](const auto& c) { return c.param.name; });

/// Positions reach the loss through their features only. A model that is given the features has
/// their gradients.
TEST(ErwinRankGradients, OfPositionsAreThoseOfTheirFeatures) {
    const GoldenFile file(stored_case("bsa/erwin_linear_grad"));
    const SequoiaCase points(file);
    const int64_t d = points.n_axis, n_feature = file.tensor("pos_enc.bias").values.size();
    const std::vector<double> w = file.tensor("pos_enc.weight").values;
    ModelWriter writer = writer_of(file);
    writer.card["network"]["pos_enc"] = "none";
    std::erase_if(writer.tensors, [](const auto& t) { return t.name.starts_with("pos_enc"); });
    const ModelOnDisk disk(writer.bytes());
    SequoiaCase with_features = points;
    for (int64_t i = 0; i < points.n; ++i)
        for (int64_t k = 0; k < n_feature; ++k) {
            double sum = file.tensor("pos_enc.bias").values[k];
            for (int64_t j = 0; j < d; ++j) sum += w[k * d + j] * points.positions[i * d + j];
            with_features.features.push_back(sum);
        }
    const std::vector<int64_t> rows = own_rows("scattered", points.n, world);
    const Gradients found(stored_case("bsa/erwin_linear_grad"), points.rows(rows), {},
                          mpi_context(world));
    const Gradients of_features(disk.path(), with_features.rows(rows), {}, mpi_context(world));
    ASSERT_EQ(found.dpositions.size(), rows.size() * d);
    double largest = 0;
    for (const double g : of_features.run.dx) largest = std::max(largest, std::abs(g));
    for (size_t i = 0; i < rows.size(); ++i)
        for (int64_t j = 0; j < d; ++j) {
            double expected = 0;
            for (int64_t k = 0; k < n_feature; ++k)
                expected += of_features.run.dx[i * n_feature + k] * w[k * d + j];
            ASSERT_NEAR(found.dpositions[i * d + j], expected, 1e-10 * largest) << i;
        }
}

TEST(BsaRankTraining, FollowsTheTraceOfPyTorch) {
    const GoldenFile file(stored_case("bsa/bsa_train"));
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

TEST(BsaRankTraining, OfGroupsOfRanksHasTheBitsOfOneRank) {
    const GoldenFile file(stored_case("bsa/bsa_train"));
    const SequoiaCase points(file);
    expect_groups_of_ranks(file, points, points_of, {}, file.tensor("check/input/target").values,
                           world);
}

TEST(ErwinRankTraining, OfGroupsOfRanksHasTheBitsOfOneRank) {
    const GoldenFile file(stored_case("bsa/erwin_features_grad"));
    const SequoiaCase points(file);
    std::vector<double> targets;
    for (const float value : wave(points.n * 2, 0.2)) targets.push_back(value);
    expect_groups_of_ranks(file, points, points_of, points.features, targets, world);
}

class BsaRankFaults : public testing::TestWithParam<std::string> {};

TEST_P(BsaRankFaults, ReachAllRanks) {
    const TrapGuard traps;
    const std::string path = stored_case("bsa/" + GetParam());
    const SequoiaCase points{GoldenFile(path)};
    const SequoiaCase own = points.rows(own_rows("contiguous", points.n, world));
    GradientRun run(path, points_of(own), {own.features, {}},
                    {.precision = "fp32", .queue = simd_queue()}, mpi_context(world));
    expect_failures_reach_all_ranks(run, world);
}

INSTANTIATE_TEST_SUITE_P(Files, BsaRankFaults,
                         testing::Values("bsa_features_rotated_ball", "erwin_features_grad"),
                         [](const auto& name) { return name.param; });

TEST(BsaRankMemory, IsTakenByPlanning) {
    const std::string models[] = {bsa_network(small_bsa({{"attention_type", "sparse"}})).bytes(),
                                  bsa_network(small_bsa({{"attention_type", "global"}})).bytes(),
                                  bsa_model(small_erwin({{"pos_enc", "linear"}})).bytes()};
    for (const std::string& model : models) {
        SCOPED_TRACE(&model - models);
        const ModelOnDisk disk(model);
        const SequoiaCase points = SequoiaCase::wave(700);
        const SequoiaCase own = points.rows(own_rows("scattered", points.n, world));
        Gradients first(disk.path(), own,
                        {.precision = "fp32",
                         .reproducible = true,
                         .queue = simd_queue(),
                         .order = impl::GradientOrder::exact},
                        mpi_context(world));
        expect_backward_takes_no_memory(first.run);
    }
}

}  // namespace
}  // namespace surrogate::test
