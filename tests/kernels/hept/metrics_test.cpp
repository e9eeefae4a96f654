// SPDX-License-Identifier: Apache-2.0
#include "kernels/hept/metrics.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "kernels/base/error.hpp"
#include "kernels/hept/nearest.hpp"
#include "tests/kernels/base/target.hpp"
#include "tests/support/golden_file.hpp"

namespace surrogate::kernels::hept::test {
namespace {

const Queue one(Backend::ref, VectorLevel::scalar, 1);

class NearestPointsOn : public kernels::test::OnTarget {
protected:
    Queue on_threads(int n_thread) const {
        return Queue(GetParam().backend, GetParam().level, n_thread);
    }
};
SURROGATE_ON_ALL_TARGETS(NearestPointsOn);

TEST_P(NearestPointsOn, GiveTheScoresOfTheOfficialDefinition) {
    const surrogate::test::GoldenFile file(std::string(SURROGATE_TEST_DATA) +
                                           "/hept/losses.safetensors");
    const auto id = file.integers("check/infonce/particle_id");
    const auto flags = file.tensor("check/infonce/reconstructable").values;
    const auto pt64 = file.tensor("check/infonce/pt").values;
    const std::vector<double> e = file.tensor("check/infonce/embedding").values;
    const std::vector<uint8_t> is_reconstructable(flags.begin(), flags.end());
    const std::vector<float> pt(pt64.begin(), pt64.end()), e32(e.begin(), e.end());
    const HitTruth truth{id, is_reconstructable, pt};
    const std::vector<double> thresholds = {0, 0.5, 0.9};
    // From the independent program: accuracy, precision, recall.
    const double want[3][3] = {{0.907032967032967, 0.1483805668016194, 0.9980769230769231},
                               {0.907032967032967, 0.1483805668016194, 0.9980769230769231},
                               {0.8939865689865689, 0.1440620782726046, 0.9967948717948718}};
    const auto exact = tracking_scores(one, make_view(e.data(), 300, 12), truth, thresholds);
    const auto single =
        tracking_scores(on_threads(2), make_view(e32.data(), 300, 12), truth, thresholds);
    for (size_t s = 0; s < 3; ++s) {
        EXPECT_NEAR(exact[s].accuracy, want[s][0], 1e-14);
        EXPECT_NEAR(exact[s].precision, want[s][1], 1e-14);
        EXPECT_NEAR(exact[s].recall, want[s][2], 1e-14);
        EXPECT_EQ(single[s].accuracy, exact[s].accuracy);
        EXPECT_EQ(single[s].recall, exact[s].recall);
        EXPECT_EQ(single[s].n_point, exact[s].n_point);
    }
}

TEST(TrackingScores, CountMatchesOfEachPoint) {
    // On a line: particle 1 at 0, 1, 4; particle 2 at 2, 3; noise at 10; a lone hit at 11.
    const std::vector<float> x = {0, 1, 4, 2, 3, 10, 11}, pt(7, 1.0F);
    const std::vector<int64_t> id = {1, 1, 1, 2, 2, 0, 7};
    const std::vector<uint8_t> flags(7, 1);
    const std::vector<double> thresholds = {0.5, 1.0};
    const auto scores =
        tracking_scores(one, make_view(x.data(), 7, 1), {id, flags, pt}, thresholds, 3);
    // Three neighbors of 0: 1 2 3; of 1: 0 2 3; of 4: 3 2 1; of 2: 1 3 0; of 3: 4 2 1. At equal
    // distances the point with the smaller index comes first. Matches in the first k and in all.
    EXPECT_EQ(scores[0].n_point, 5);
    EXPECT_NEAR(scores[0].accuracy, (0.5 + 0.5 + 0 + 0 + 0) / 5, 1e-15);
    EXPECT_NEAR(scores[0].precision, (1 + 1 + 1 + 1 + 1) / 3.0 / 5, 1e-15);
    EXPECT_NEAR(scores[0].recall, (0.5 + 0.5 + 0.5 + 1 + 1) / 5, 1e-15);
    EXPECT_EQ(scores[1].n_point, 0);
    EXPECT_EQ(scores[1].accuracy, 0);
}

TEST(TrackingScores, RefuseLargeParticlesAndOtherLengths) {
    const std::vector<float> x = {0, 1, 2}, pt(3, 1.0F);
    const std::vector<int64_t> id(3, 5);
    const std::vector<uint8_t> flags(3, 1);
    const std::vector<double> thresholds = {0};
    const auto status = [&](const HitTruth& truth, int64_t n_neighbor) {
        try {
            tracking_scores(one, make_view(x.data(), 3, 1), truth, thresholds, n_neighbor);
        } catch (const Error& error) {
            return error.status();
        }
        return Status::success;
    };
    const HitTruth truth{id, flags, pt};
    EXPECT_EQ(status(truth, 2), Status::success);
    EXPECT_EQ(status(truth, 1), Status::limit);
    EXPECT_EQ(status({truth.id.first(2), flags, pt}, 2), Status::shape);
    EXPECT_EQ(status({id, flags, std::span(pt).first(1)}, 2), Status::shape);
}

TEST_P(NearestPointsOn, AreThoseOfASort) {
    auto random = kernels::test::generator();
    std::uniform_int_distribution<int> coordinate(0, 3);  // many ties
    const int64_t n = 700, m = 3, k = 20;
    std::vector<float> e;
    for (int64_t i = 0; i < n * m; ++i) e.push_back(static_cast<float>(coordinate(random)));
    std::vector<int32_t> queries;
    for (int32_t i = 0; i < n; i += 3) queries.push_back(i);
    std::vector<int32_t> nearest(queries.size() * k), again(nearest.size());
    nearest_points(on_threads(1), make_view<const float>(e.data(), n, m), queries, k, nearest);
    nearest_points(on_threads(2), make_view<const float>(e.data(), n, m), queries, k, again);
    EXPECT_EQ(nearest, again);
    for (size_t q = 0; q < queries.size(); ++q) {
        std::vector<std::pair<float, int32_t>> all;
        for (int32_t i = 0; i < n; ++i) {
            float square = 0;
            for (int64_t c = 0; c < m; ++c) {
                const float d =
                    e[static_cast<size_t>(queries[q] * m + c)] - e[static_cast<size_t>(i * m + c)];
                square += d * d;
            }
            all.emplace_back(square, i);
        }
        std::sort(all.begin(), all.end());
        for (size_t j = 0; j < k; ++j)
            ASSERT_EQ(nearest[q * k + j], all[j].second) << q << " " << j;
    }
}

TEST(NearestPoints, AreMinusOneBeyondAllPoints) {
    const std::vector<double> e = {3, 1};
    const std::vector<int32_t> queries = {1};
    std::vector<int32_t> nearest(4);
    nearest_points(one, make_view<const double>(e.data(), 2, 1), queries, 4, nearest);
    EXPECT_EQ(nearest, (std::vector<int32_t>{1, 0, -1, -1}));
}

TEST(ClassScores, AreThoseOfTheDefinitions) {
    // Descending p: y = 1 0 1 | 1 0 (tied) | 0, so precision 1, 1/2, 2/3, then 3/5.
    const std::vector<double> p = {0.9, 0.8, 0.7, 0.4, 0.4, 0.1};
    const std::vector<uint8_t> y = {1, 0, 1, 1, 0, 0};
    const ClassScore score = class_score<double>(p, y, {});
    EXPECT_NEAR(score.average_precision, (1 + 2.0 / 3 + 3.0 / 5) / 3, 1e-15);
    // There are 9 pairs of both classes: 0.9 beats 3, 0.7 beats 2, 0.4 beats 1 and ties with one.
    EXPECT_NEAR(score.roc_auc, (3 + 2 + 1.5) / 9, 1e-15);
    EXPECT_NEAR(score.f1, 2 * 2.0 / (3 + 3), 1e-15);
    EXPECT_EQ(score.n_point, 6);
}

TEST(ClassScores, CountPointsWithTheirWeights) {
    // Values of scikit-learn: average_precision_score, roc_auc_score and f1_score.
    const std::vector<double> p = {0.9, 0.8, 0.7, 0.4, 0.4, 0.1, 0.95};
    const std::vector<uint8_t> y = {1, 0, 1, 1, 0, 0, 1}, mask(7, 1);
    const std::vector<double> weights = {0.5, 1, 2, 0.25, 3, 0.75, 0};
    const ClassScore score = class_score<double>(p, y, mask, weights);
    EXPECT_NEAR(score.average_precision, 0.7383357383357385, 1e-15);
    EXPECT_NEAR(score.roc_auc, 0.799043062200957, 1e-15);
    EXPECT_NEAR(score.f1, 0.8, 1e-15);
    EXPECT_EQ(score.n_point, 6);
    EXPECT_EQ(score.positive, 2.75);
    EXPECT_EQ(score.negative, 4.75);
    // Repeated points are points of whole weights.
    const std::vector<double> twice = {1, 2, 1, 1, 3, 1, 1};
    std::vector<double> long_p;
    std::vector<uint8_t> long_y;
    for (size_t i = 0; i < p.size(); ++i) {
        long_p.insert(long_p.end(), static_cast<size_t>(twice[i]), p[i]);
        long_y.insert(long_y.end(), static_cast<size_t>(twice[i]), y[i]);
    }
    const ClassScore repeated = class_score<double>(long_p, long_y, {});
    const ClassScore weighted = class_score<double>(p, y, {}, twice);
    EXPECT_NEAR(weighted.average_precision, repeated.average_precision, 1e-15);
    EXPECT_NEAR(weighted.roc_auc, repeated.roc_auc, 1e-15);
    EXPECT_THROW(class_score<double>(p, y, {}, std::span(weights).first(3)), Error);
}

TEST(ClassScores, AreOfSelectedPointsAndZeroWhereUndefined) {
    const std::vector<float> p = {0.9F, 0.2F, 0.6F, 0.5F};
    const std::vector<uint8_t> y = {0, 1, 1, 0}, mask = {0, 1, 1, 1}, none(4, 0);
    const ClassScore score = class_score<float>(p, y, mask);
    EXPECT_EQ(score.n_point, 3);
    EXPECT_NEAR(score.roc_auc, 0.5, 1e-15);
    EXPECT_NEAR(score.average_precision, (1 + 2.0 / 3) / 2, 1e-15);
    EXPECT_NEAR(score.f1, 2 * 1.0 / (1 + 2), 1e-15);  // 0.5 is not above 0.5
    const ClassScore empty = class_score<float>(p, y, none);
    EXPECT_EQ(empty.average_precision + empty.roc_auc + empty.f1, 0);
    EXPECT_THROW(class_score<float>(p, std::span(y).first(2), {}), Error);
}

}  // namespace
}  // namespace surrogate::kernels::hept::test
