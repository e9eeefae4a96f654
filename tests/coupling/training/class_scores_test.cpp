// SPDX-License-Identifier: Apache-2.0
// Scores of classes against values of scikit-learn 1.9: two samples of 30 and 17 points, each with
// half of the weight, with ties, ignored points, and with or without weights of points.
#include "coupling/training/class_scores.hpp"

#include <gtest/gtest.h>
#include <surrogate/surrogate_train.h>

#include <cmath>

#include "coupling/job/classes.hpp"

namespace surrogate::test {
namespace {

using tool::ClassSample;
using tool::ClassScore;
using tool::ClassScores;

ClassSample sample(int number, int n_output, bool has_weights) {
    ClassSample sample;
    sample.logits.resize(static_cast<size_t>(n_output));
    const int n_point = number == 0 ? 30 : 17;
    for (int i = 0; i < n_point; ++i) {
        const int label = (5 * i + number + i / 4) % 3;
        sample.labels.push_back(i % 11 == 0     ? SURROGATE_IGNORED_LABEL
                                : n_output == 1 ? (label == 0 ? 1 : 0)
                                                : label);
        if (has_weights) sample.weights.push_back(0.5 + 0.25 * (i % 4));
        for (int c = 0; c < n_output; ++c) {
            const int level = 7 * i + 3 * c + 5 * number + i * i * (n_output > 1 ? c : 1);
            // Probabilities of powers of two are exact, so equal ones are ties.
            sample.logits[static_cast<size_t>(c)].push_back(
                n_output > 1 ? (level % 3) * std::log(2.0) : level % 5 - 2);
        }
    }
    return sample;
}

ClassScores scores_of(int n_output, bool has_weights, const std::vector<int64_t>& top_k = {1}) {
    ClassScores scores(static_cast<size_t>(n_output), top_k);
    for (int number = 0; number < 2; ++number)
        EXPECT_TRUE(scores.add(sample(number, n_output, has_weights)));
    return scores;
}

void expect_near(const ClassScore& found, const ClassScore& expected) {
    EXPECT_NEAR(found.precision, expected.precision, 1e-14);
    EXPECT_NEAR(found.recall, expected.recall, 1e-14);
    EXPECT_NEAR(found.f1, expected.f1, 1e-14);
    EXPECT_NEAR(found.iou, expected.iou, 1e-14);
    EXPECT_NEAR(found.average_precision, expected.average_precision, 1e-14);
    EXPECT_NEAR(found.roc_auc, expected.roc_auc, 1e-14);
}

TEST(ClassScores, OfThreeClassesAreThoseOfScikitLearn) {
    const ClassScores scores = scores_of(3, false, {1, 2, 3});
    EXPECT_NEAR(scores.accuracy(), 0.26666666666666666, 1e-14);
    EXPECT_NEAR(scores.balanced_accuracy(), 0.25136906729722214, 1e-14);
    EXPECT_NEAR(scores.cross_entropy(), 1.2732613383887954, 1e-14);
    EXPECT_NEAR(scores.iou(), 0.15384615384615388, 1e-14);
    EXPECT_NEAR(scores.top_k_accuracy()[0], 0.26666666666666666, 1e-14);
    EXPECT_NEAR(scores.top_k_accuracy()[1], 0.6851851851851852, 1e-14);
    EXPECT_NEAR(scores.top_k_accuracy()[2], 1, 1e-14);
    const int64_t confusion[3][3] = {{9, 6, 2}, {8, 2, 3}, {6, 5, 1}};
    for (size_t label = 0; label < 3; ++label)
        for (size_t c = 0; c < 3; ++c) EXPECT_EQ(scores.count(label, c), confusion[label][c]);
    const ClassScore expected[] = {{0.362962962962963, 0.48514851485148514, 0.4152542372881356,
                                    0.2620320855614974, 0.33596866096866096, 0.41077672327672327},
                                   {0.1728395061728395, 0.15053763440860218, 0.16091954022988508,
                                    0.08750000000000001, 0.3056878306878307, 0.3839285714285714},
                                   {0.16666666666666669, 0.11842105263157897, 0.1384615384615385,
                                    0.07438016528925621, 0.24564393939393941, 0.3851674641148325}};
    for (size_t c = 0; c < 3; ++c) expect_near(scores.of_class(c), expected[c]);
    EXPECT_NEAR(scores.mean().roc_auc,
                (expected[0].roc_auc + expected[1].roc_auc + expected[2].roc_auc) / 3, 1e-14);
}

TEST(ClassScores, OfWeightedPointsAreThoseOfScikitLearn) {
    const ClassScores scores = scores_of(3, true, {2});
    EXPECT_NEAR(scores.accuracy(), 0.26214833759590794, 1e-14);
    EXPECT_NEAR(scores.balanced_accuracy(), 0.25387558482261197, 1e-14);
    EXPECT_NEAR(scores.cross_entropy(), 1.2809033555449478, 1e-14);
    EXPECT_NEAR(scores.iou(), 0.15084621044885946, 1e-14);
    EXPECT_NEAR(scores.top_k_accuracy()[0], 0.6767902813299232, 1e-14);
    const ClassScore expected[] = {{0.3434791372707116, 0.5089605734767025, 0.4101576603682754,
                                    0.25798637395912194, 0.3155958073975725, 0.39320185023310017},
                                   {0.1450467289719626, 0.11616766467065869, 0.12901080631753947,
                                    0.06895326106273325, 0.31802440080499816, 0.3715100170502984},
                                   {0.21052631578947367, 0.13649851632047477, 0.16561656165616562,
                                    0.0902845927379784, 0.2473461248447788, 0.3725709033613446}};
    for (size_t c = 0; c < 3; ++c) expect_near(scores.of_class(c), expected[c]);
}

TEST(ClassScores, OfOneLogitAreThoseOfScikitLearn) {
    const ClassScores scores = scores_of(1, true);
    ASSERT_EQ(scores.n_class(), 2u);
    EXPECT_NEAR(scores.accuracy(), 0.43307757885763, 1e-14);
    EXPECT_NEAR(scores.balanced_accuracy(), 0.45137062927096916, 1e-14);
    EXPECT_NEAR(scores.cross_entropy(), 1.0519556727248547, 1e-14);
    EXPECT_EQ(scores.count(0, 1), 16);
    EXPECT_EQ(scores.count(1, 0), 8);
    expect_near(scores.of_class(0), {0.5903584048460374, 0.38750828363154405, 0.46789357871574316,
                                     0.30539234887060973, 0.6266922801700604, 0.4702159819347319});
    expect_near(scores.of_class(1), {0.31814828476576906, 0.5152329749103942, 0.3933865450399087,
                                     0.24485450674237044, 0.3566886186640551, 0.47021598193473196});
}

TEST(ClassScores, WithoutPointsOfAClassAreUndefined) {
    ClassScores scores(3, {1});
    EXPECT_TRUE(scores.add({{0, 0, 1}, {}, {{2, 1, 0}, {0, 0, 1}, {-1, -1, -1}}}));
    EXPECT_EQ(scores.accuracy(), 1);
    EXPECT_EQ(scores.balanced_accuracy(), 1);  // of the classes that have points
    for (const double value : {scores.of_class(2).precision, scores.of_class(2).recall,
                               scores.of_class(2).average_precision, scores.of_class(2).roc_auc})
        EXPECT_TRUE(std::isnan(value));
    EXPECT_EQ(scores.mean().average_precision, 1);
    // Large logits give no infinity.
    EXPECT_TRUE(scores.add({{1}, {}, {{1000}, {0}, {0}}}));
    EXPECT_NEAR(scores.cross_entropy(), 500, 1);
    EXPECT_EQ(scores.accuracy_of_samples(), (std::vector<double>{1, 0}));
}

TEST(ClassScores, SamplesWithoutWeightDoNotCount) {
    ClassScores scores(2, {1});
    const std::vector<std::vector<double>> logits = {{0, 1}, {1, 0}};
    const int64_t ignored = SURROGATE_IGNORED_LABEL;
    EXPECT_FALSE(scores.add({{ignored, ignored}, {}, logits}));
    EXPECT_FALSE(scores.add({{0, ignored}, {0, 1}, logits}));
    EXPECT_FALSE(scores.add({{}, {}, {{}, {}}}));
    EXPECT_EQ(scores.accuracy_of_samples().size(), 0u);
    EXPECT_TRUE(scores.add({{1, 0}, {1, 0}, logits}));
    EXPECT_EQ(scores.accuracy(), 1);
    EXPECT_EQ(scores.count(1, 1), 1);
    EXPECT_EQ(scores.count(0, 0), 0);  // weight 0
}

TEST(Classes, HaveTheSoftmaxOfTheirLogits) {
    std::vector<double> p(3), two(2);
    const std::vector<double> logits = {1, 1000, 1000};
    EXPECT_EQ(tool::classify(logits, p), 1u);  // the first of equal ones
    EXPECT_EQ(p, (std::vector<double>{0, 0.5, 0.5}));
    std::vector<double> logit = {0.25, 1, 0};
    tool::make_logits(&logit);
    EXPECT_NEAR(logit[0], -std::log(3.0), 1e-15);
    EXPECT_NEAR(logit[1], 100, 1e-12);
    EXPECT_NEAR(logit[2], -100, 1e-12);
    EXPECT_EQ(tool::classify(std::span(logit).first(1), two), 0u);
    EXPECT_NEAR(two[1], 0.25, 1e-15);
    EXPECT_EQ(tool::class_names({"wet"}), (std::vector<std::string>{"not wet", "wet"}));
}

}  // namespace
}  // namespace surrogate::test
