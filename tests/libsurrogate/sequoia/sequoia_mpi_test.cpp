// SPDX-License-Identifier: Apache-2.0
// Sequoia on ranks: the stored cases, what is sent, points that move, tokens that are no words.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "libsurrogate/src/model/sequoia/tree.hpp"
#include "tests/support/family_ranks.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/sequoia_case.hpp"
#include "tests/support/sphere_models.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

/// Returns the rows of `whole` for this rank's points of a partition, or all rows of clouds.
std::vector<double> own_part(const std::vector<double>& whole, const std::vector<int64_t>& rows,
                             int64_t n) {
    if (std::ssize(whole) % n != 0 || n == 1)
        return rows.empty() && n == 1 ? std::vector<double>{} : whole;
    const int64_t width = std::ssize(whole) / n;
    std::vector<double> part;
    for (const int64_t row : rows)
        part.insert(part.end(), whole.begin() + row * width, whole.begin() + (row + 1) * width);
    return part;
}

class SequoiaRanks : public testing::TestWithParam<std::string> {};

TEST_P(SequoiaRanks, PredictTheStoredNumbers) {
    const std::string path = SURROGATE_TEST_DATA "/sequoia/" + GetParam() + ".safetensors";
    const GoldenFile file(path);
    const SequoiaCase points(file);
    const std::vector<double> truth = file.tensor("check/output64/y").values;
    const double largest = std::abs(*std::ranges::max_element(
        truth, [](double a, double b) { return std::abs(a) < std::abs(b); }));
    const Context context = mpi_context(world), self;
    const Model model(context, path), alone(self, path);
    const std::vector<double> bits = run(self, alone, points);
    for (const char* partition : {"contiguous", "scattered", "uneven"}) {
        const std::vector<int64_t> rows = own_rows(partition, points.n, world);
        const SequoiaCase own = points.rows(rows);
        const std::vector<double> y = run(context, model, own, {{"precision", "fp64"}});
        const std::vector<double> expected = own_part(truth, rows, points.n);
        ASSERT_EQ(y.size(), expected.size()) << partition;
        for (size_t i = 0; i < y.size(); ++i)
            EXPECT_LE(std::abs(y[i] - expected[i]), 1e-12 * largest) << partition << " " << i;
        EXPECT_EQ(run(context, model, own), own_part(bits, rows, points.n)) << partition;
    }
}

INSTANTIATE_TEST_SUITE_P(Files, SequoiaRanks,
                         testing::Values("points_2d_k16", "points_class_root_tied",
                                         "points_features_grad", "points_n1",
                                         "points_parent_complete_repeat", "points_small_grad",
                                         "sequence_grad", "sequence_no_ancestors_root",
                                         "sequence_topdown"),
                         [](const auto& name) { return name.param; });

TEST(SequoiaTraffic, IsOneRowOfTheCutLevelForEachNodeAndLayer) {
    const ModelOnDisk file(sequoia_model(small_sequoia()));  // C 16, I 12, 3 layers, k 3
    const Context context = mpi_context(world);
    const Model model(context, file.path());
    const SequoiaCase points = SequoiaCase::wave(300);
    const SequoiaCase own = points.rows(own_rows("scattered", points.n, world));
    const Domain domain = own.domain(context);
    Plan plan(model, domain);
    run(plan, model, own);
    const impl::sequoia::Tree tree(points.n, 3, rank_of(world), size_of(world));
    const int64_t n_node = tree.owned(tree.cut()).size(), n_leaf = tree.owned(0).size();
    // A flag, positions to the leaves, the means of the cut level, its attention, predictions.
    EXPECT_EQ(plan.counter("bytes_sent"),
              8 + 12 * own.n + 4 * 16 * n_node + 3 * 4 * 12 * n_node + 4 * n_leaf);
    EXPECT_EQ(plan.counter("collectives"), 1 + 1 + 1 + 3 + 1);
}

TEST(SequoiaMoves, GiveTheBitsOfAPlanMadeAnew) {
    const ModelOnDisk file(sequoia_model(small_sequoia()));
    const Context context = mpi_context(world);
    const Model model(context, file.path());
    SequoiaCase points = SequoiaCase::wave(200);
    Domain domain = points.rows(own_rows("contiguous", 200, world)).domain(context);
    Plan plan(model, domain);
    struct Move {
        const char* partition;
        int64_t n;
    };
    for (const Move& to : {Move{"scattered", 200}, Move{"uneven", 7}, Move{"contiguous", 1},
                           Move{"scattered", 0}, Move{"contiguous", 500}, Move{"uneven", 350}}) {
        SCOPED_TRACE(std::string(to.partition) + " " + std::to_string(to.n));
        points = SequoiaCase::wave(to.n);
        for (double& x : points.positions) x = static_cast<double>(static_cast<float>(-0.7 * x));
        const SequoiaCase own = points.rows(own_rows(to.partition, to.n, world));
        const surrogate_points moved{matrix(own.positions.data(), own.n, 3), own.ids.data(),
                                     nullptr, nullptr};
        domain.update_points(moved);
        EXPECT_EQ(run(plan, model, own), run(context, model, own));
    }
}

TEST(SequoiaTokens, WithoutAWordAreNamedByTheirRankAndPoisonAll) {
    const ModelOnDisk file(sequoia_model(small_sequence()));
    const Context context = mpi_context(world);
    const Model model(context, file.path());
    const SequoiaCase points = SequoiaCase::sequence(50);
    const std::vector<int64_t> rows = own_rows("contiguous", points.n, world);
    SequoiaCase own = points.rows(rows);
    const Domain domain = own.domain(context);
    Plan plan(model, domain);
    const std::vector<double> good = run(plan, model, own);
    const bool is_culprit = rank_of(world) == size_of(world) - 1;
    if (is_culprit) own.tokens.back() = 11;
    std::vector<double> y(3);
    try {
        y = run(plan, model, own);
        ADD_FAILURE();
    } catch (const Error& error) {
        const std::string text = error.what();
        EXPECT_EQ(error.status(), is_culprit ? SURROGATE_INVALID_ARGUMENT : SURROGATE_NOT_FINITE);
        EXPECT_EQ(text.find("id 49") != std::string::npos, is_culprit) << text;
    }
    own.tokens = points.rows(rows).tokens;
    EXPECT_EQ(run(plan, model, own), good);
}

surrogate_points points_of(const SequoiaCase& own) {
    static const int64_t no_id = 0;
    return {matrix(own.positions.data(), own.n, own.n_axis), own.n > 0 ? own.ids.data() : &no_id,
            nullptr, nullptr};
}

TEST(SequoiaTrainingRanks, OfOneEachTrainTogether) {
    const GoldenFile file(SURROGATE_TEST_DATA "/sequoia/points_train.safetensors");
    const SequoiaCase points(file);
    expect_groups_of_one_rank(file, points.n_axis, points_of(points), {},
                              file.tensor("check/input/target").values, world);
}

}  // namespace
}  // namespace surrogate::test
