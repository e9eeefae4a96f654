// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <map>
#include <numeric>

#include "kernels/base/error.hpp"
#include "tests/kernels/base/reference_queue.hpp"
#include "tests/kernels/base/slope.hpp"
#include "tests/kernels/base/tile_box.hpp"
#include "tests/kernels/losses/pair_problem.hpp"
#include "tests/support/golden_file.hpp"

namespace surrogate::kernels::losses::test {
namespace {

using kernels::test::OnTarget;
using kernels::test::Traps;

class PairLossOn : public OnTarget {};
SURROGATE_ON_ALL_TARGETS(PairLossOn);

const Similarity similarities[] = {{Likeness::l2_rbf, 0.05, 0.75},
                                   {Likeness::l2_inverse, 0.1, 0.75},
                                   {Likeness::cosine, 0.2, 0.75}};

/// Exact double references for all, and the queue's own precision for simd.
using kernels::test::reference;

PairProblem golden_problem(const surrogate::test::GoldenFile& file) {
    const auto id = file.integers("check/infonce/particle_id");
    const auto flags = file.tensor("check/infonce/reconstructable").values;
    const auto pt = file.tensor("check/infonce/pt").values;
    const auto e = file.tensor("check/infonce/embedding");
    const auto pairs = file.tensor("check/infonce/pairs");
    PairProblem problem{e.shape[0], e.shape[1], {}, e.values, {}, {}, {}};
    // Labels of reconstructable particles with a transverse momentum above 0.9 GeV.
    std::map<int64_t, int32_t> labels;
    for (size_t i = 0; i < id.size(); ++i) {
        const bool has_label = flags[i] != 0 && pt[i] > 0.9;
        const auto next = static_cast<int32_t>(labels.size());
        problem.label.push_back(has_label ? labels.emplace(id[i], next).first->second : -1);
    }
    for (double u : pairs.part(0)) problem.first.push_back(static_cast<int32_t>(u));
    for (double v : pairs.part(1)) problem.second.push_back(static_cast<int32_t>(v));
    return problem;
}

TEST_P(PairLossOn, GivesTheGradientOfTheOfficialCode) {
    const surrogate::test::GoldenFile file(std::string(SURROGATE_TEST_DATA) +
                                           "/hept/losses.safetensors");
    const PairProblem problem = golden_problem(file);
    const std::vector<double> want = file.tensor("check/infonce/grad").values;
    // The independent program computed the loss in double: the file has the gradient alone.
    const double loss = 0.28675672213787984;
    const PairRun<double> exact = run_pairs<double>(reference, problem);
    EXPECT_NEAR(exact.loss, loss, 1e-14);
    expect_near(exact.gradient, want, 1e-12);
    Traps traps;
    const PairRun<float> run = run_pairs<float>(queue(), problem);
    EXPECT_NEAR(run.loss, loss, 2e-6 * loss);
    expect_near(run.gradient, want, 1e-5);
}

/// Error of t is a few eps |t|, and |t| <= 20: so is the relative error of x.
constexpr double float_bound = 20 * 8 * 1.2e-7;

TEST_P(PairLossOn, AgreesWithLoopsOverTheListOfPairs) {
    auto random = generator();
    struct Case {
        int64_t n_point, n_channel, n_pair;
    };
    const Case cases[] = {{2, 1, 1},     {7, 12, 40},   {60, 12, 800},
                          {33, 16, 300}, {40, 17, 300}, {25, 48, 200}};
    for (const Similarity& similarity : similarities) {
        for (const Case& c : cases) {
            for (bool is_symmetric : {true, false}) {
                const PairProblem problem = random_problem(random, c.n_point, c.n_channel, c.n_pair,
                                                           similarity, is_symmetric);
                const NaiveLoss want = naive_loss(problem);
                const PairOptions options{is_symmetric, true, c.n_point % 2};
                const PairRun<double> exact = run_pairs<double>(reference, problem, options);
                EXPECT_NEAR(exact.loss, want.loss, 1e-13 * std::max(1.0, want.loss));
                expect_near(exact.gradient, want.gradient, 1e-11);
                Traps traps;
                const PairRun<float> run = run_pairs<float>(queue(), problem, options);
                EXPECT_NEAR(run.loss, want.loss, float_bound * std::max(0.1, want.loss));
                expect_near(run.gradient, want.gradient, float_bound);
            }
        }
    }
}

TEST(PairLossReference, AgreesWithDifferences) {
    auto random = generator();
    for (const Similarity& similarity : similarities) {
        PairProblem problem = random_problem(random, 30, 5, 200, similarity, false);
        const PairRun<double> run = run_pairs<double>(reference, problem, {false, true, 0});
        const auto loss = [&] {
            return run_pairs<double>(reference, problem, {false, true, 0}).loss;
        };
        kernels::test::expect_slopes("gradient", problem.e.data(), run.gradient.data(),
                                     static_cast<int64_t>(problem.e.size()), loss, 1e-7);
    }
}

TEST_P(PairLossOn, DoesNotDependOnTheShift) {
    auto random = generator();
    for (const Similarity& similarity : similarities) {
        ASSERT_TRUE(bound_suffices(similarity));
        const PairProblem problem = random_problem(random, 50, 12, 600, similarity, true);
        const PairRun<float> exact = run_pairs<float>(queue(), problem, {true, true, 0});
        const PairRun<float> bound = run_pairs<float>(queue(), problem, {true, false, 0});
        EXPECT_LE(exact.m, bound.m * (1 + 1e-6F));  // unit vectors are rounded
        EXPECT_NEAR(exact.loss, bound.loss, float_bound * std::max(0.1, exact.loss));
        expect_near(bound.gradient, exact.gradient, float_bound);
    }
}

TEST_P(PairLossOn, GivesTheSameBitsOnAnyNumberOfThreads) {
    auto random = generator();
    const PairProblem problem = random_problem(random, 400, 12, 9000, similarities[0], true);
    const PairRun<float> one = run_pairs<float>(queue(), problem);
    const PairRun<float> two =
        run_pairs<float>(Queue(GetParam().backend, GetParam().level, 2), problem);
    EXPECT_EQ(one.loss, two.loss);
    EXPECT_EQ(one.m, two.m);
    EXPECT_EQ(one.gradient, two.gradient);
}

TEST(PairLossLevels, GiveTheSameBits) {
    auto random = generator();
    for (const Similarity& similarity : similarities) {
        for (int64_t n_channel : {12, 20}) {
            const PairProblem problem =
                random_problem(random, 80, n_channel, 900, similarity, true);
            const Queue scalar(Backend::simd, VectorLevel::scalar, 1);
            const PairRun<float> one = run_pairs<float>(scalar, problem);
            for (VectorLevel level : kernels::test::wide_levels()) {
                const PairRun<float> wide =
                    run_pairs<float>(Queue(Backend::simd, level, 1), problem);
                EXPECT_EQ(one.m, wide.m);
                EXPECT_EQ(one.loss, wide.loss);
                EXPECT_EQ(one.gradient, wide.gradient);
            }
        }
    }
}

TEST_P(PairLossOn, OfAPointDoesNotDependOnOthers) {
    auto random = generator();
    PairProblem problem = random_problem(random, 60, 12, 900, similarities[0], true);
    const PairRun<float> before = run_pairs<float>(queue(), problem, {true, false, 0});
    problem.n_point += 1;  // without pairs, after the last point
    problem.label.push_back(-1);
    problem.e.insert(problem.e.end(), 12, 0.5);
    const PairRun<float> after = run_pairs<float>(queue(), problem, {true, false, 0});
    EXPECT_EQ(before.loss, after.loss);
    EXPECT_TRUE(std::equal(before.gradient.begin(), before.gradient.end(), after.gradient.begin()));
}

TEST_P(PairLossOn, IsZeroForPositivePairsWithoutNegativeOnes) {
    // Point 0 has a positive pair alone, points 1 and 2 nothing positive.
    PairProblem problem{4, 2, {}, {0, 0, 1, 0, 0, 1, 1, 1}, {5, -1, 3, 5}, {0, 1, 1}, {3, 2, 0}};
    const PairTable table(4, problem.label, problem.first, problem.second);
    EXPECT_FALSE(is_symmetric(table.rows()));
    Traps traps;
    const PairRun<float> run = run_pairs<float>(queue(), problem, {false, true, 0});
    EXPECT_EQ(run.loss, 0);
    for (double slope : run.gradient) EXPECT_EQ(slope, 0);
}

TEST_P(PairLossOn, IsZeroWithoutPairsOrPoints) {
    Traps traps;
    for (int64_t n : {0, 3}) {
        const PairProblem problem{n,
                                  2,
                                  {},
                                  std::vector<double>(static_cast<size_t>(2 * n), 1.0),
                                  std::vector<int32_t>(static_cast<size_t>(n), -1),
                                  {},
                                  {}};
        const PairRun<float> run = run_pairs<float>(queue(), problem);
        EXPECT_EQ(run.loss, 0);
        EXPECT_EQ(run.m, -std::numeric_limits<float>::infinity());
        for (double slope : run.gradient) EXPECT_EQ(slope, 0);
    }
}

TEST_P(PairLossOn, CountsParticlesWithPositivePairsOnly) {
    // Particle 0: points 0 and 1, both pairs; particle 1: point 2 alone; all have a negative pair.
    // Everything in one place: x = 1, so l = log(1 + 1) for each positive pair.
    PairProblem problem{3,
                        12,
                        {},
                        std::vector<double>(36, 0.25),
                        {0, 0, 1},
                        {0, 1, 0, 1, 2, 2},
                        {1, 0, 2, 2, 0, 1}};
    for (const Similarity& similarity : similarities) {
        problem.similarity = similarity;
        Traps traps;
        const PairRun<float> run = run_pairs<float>(queue(), problem);
        EXPECT_NEAR(run.loss, std::log(2.0), 1e-6);
        for (double slope : run.gradient) EXPECT_NEAR(slope, 0, 2e-6 / similarity.tau);
        if (similarity.likeness == Likeness::cosine) continue;  // there, rounding of unit vectors
        for (double slope : run.gradient) EXPECT_EQ(slope, 0);
    }
}

TEST_P(PairLossOn, StaysFiniteForExtremeValues) {
    auto random = generator();
    for (Likeness likeness : {Likeness::l2_rbf, Likeness::l2_inverse, Likeness::cosine}) {
        for (double scale : {1e-30, 1e-18, 1.0, 1e3, 1e15}) {
            const Similarity similarity{likeness, 1e-3, 0.75};
            ASSERT_FALSE(bound_suffices(similarity));
            PairProblem problem = random_problem(random, 40, 12, 500, similarity, true);
            for (double& value : problem.e) value = static_cast<float>(scale * value);
            Traps traps;
            const PairRun<float> run = run_pairs<float>(queue(), problem);
            EXPECT_TRUE(std::isfinite(run.loss) && run.loss >= 0);
            for (double slope : run.gradient) ASSERT_TRUE(std::isfinite(slope));
        }
    }
}

TEST_P(PairLossOn, ShowsNaN) {
    auto random = generator();
    for (const Similarity& similarity : similarities) {
        PairProblem problem = random_problem(random, 40, 12, 500, similarity, true);
        problem.e[12 * 7] = NAN;  // a point with pairs of both kinds
        EXPECT_TRUE(std::isnan(run_pairs<float>(queue(), problem, {true, false, 0}).loss));
    }
}

TEST_P(PairLossOn, IsTheSumOverRanksThatExchangeSums) {
    auto random = generator();
    const PairProblem problem = random_problem(random, 50, 12, 600, similarities[0], true);
    const PairRun<float> whole = run_pairs<float>(queue(), problem, {true, false, 0});
    // Two ranks: points 0 .. 19 and 20 .. 49. The first one's rows are the front of all points;
    // the others come as second points, with sums that it receives.
    const int64_t n_row = 20;
    std::vector<int32_t> first, second;
    for (size_t k = 0; k < problem.first.size(); ++k) {
        if (problem.first[k] >= n_row) continue;
        first.push_back(problem.first[k]);
        second.push_back(problem.second[k]);
    }
    const PairTable table(n_row, problem.label, first, second);
    EmbeddingBox<float> e(50, 12), de(n_row, 12);
    e.fill(problem.e);
    PairRun<float> part{Buffer<float>(50),
                        Buffer<float>(50),
                        Buffer<float>(50),
                        Buffer<double>(n_row),
                        0,
                        whole.m,
                        {}};
    std::copy(whole.weight.begin(), whole.weight.end(), part.weight.begin());
    pair_sums<float>(queue(), problem.similarity, e.input(), table.rows(), whole.m, part.sums(),
                     part.losses.data());
    for (int64_t i = n_row; i < 50; ++i) {
        part.negative[i] = whole.negative[i];
        part.slope[i] = whole.slope[i];
    }
    pair_gradient<float>(queue(), problem.similarity, e.input(), table.rows(), PairSide::both,
                         whole.m, part.sums(), de.view());
    const std::vector<double> got = de.values();
    EXPECT_TRUE(std::equal(got.begin(), got.end(), whole.gradient.begin()));
    EXPECT_TRUE(std::equal(part.losses.begin(), part.losses.end(), whole.losses.begin()));
}

TEST(PairLoss, RefusesWhatDoesNotFit) {
    const PairTable table(2, std::vector<int32_t>{0, 0}, std::vector<int32_t>{0},
                          std::vector<int32_t>{1});
    EmbeddingBox<float> e(2, 12), wide(2, 300);
    const auto status = [&](const Similarity& similarity, Embedding<const float> embedding) {
        try {
            largest_similarity<float>(reference, similarity, embedding, table.rows());
        } catch (const Error& error) {
            return error.status();
        }
        return Status::success;
    };
    Embedding<const float> dense = e.input(), short_one = e.input();
    dense.stride[0] = 12;
    short_one.shape[0] = 1;
    EXPECT_EQ(status({}, e.input()), Status::success);
    EXPECT_EQ(status({Likeness::l2_rbf, 0, 1}, e.input()), Status::invalid_argument);
    EXPECT_EQ(status({Likeness::l2_rbf, 1, NAN}, e.input()), Status::invalid_argument);
    EXPECT_EQ(status({}, dense), Status::shape);
    EXPECT_EQ(status({}, short_one), Status::shape);
    EXPECT_EQ(status({}, wide.input()), Status::not_supported);
}

}  // namespace
}  // namespace surrogate::kernels::losses::test
