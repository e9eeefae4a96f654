// SPDX-License-Identifier: Apache-2.0
#include "kernels/hept/focal.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "kernels/base/error.hpp"
#include "tests/kernels/base/slope.hpp"
#include "tests/kernels/base/tile_box.hpp"
#include "tests/support/golden_file.hpp"

namespace surrogate::kernels::hept::test {
namespace {

using Points = FocalPoints<double>;

double mean_loss(const Points& points) {
    const FocalSum sum = focal_loss(Focal{}, points);
    return sum.loss / static_cast<double>(sum.n_point);
}

std::vector<double> gradient(const Points& points, double factor = 1) {
    std::vector<double> slopes(points.values.size());
    focal_gradient<double>(Focal{}, points, factor, slopes);
    return slopes;
}

TEST(Focal, GivesTheGradientOfTheOfficialCode) {
    const surrogate::test::GoldenFile file(std::string(SURROGATE_TEST_DATA) +
                                           "/hept/losses.safetensors");
    const std::vector<double> p = file.tensor("check/focal/p").values;
    const std::vector<double> labels = file.tensor("check/focal/y").values;
    const std::vector<double> want = file.tensor("check/focal/grad").values;
    const std::vector<uint8_t> y(labels.begin(), labels.end());
    kernels::test::Traps traps;
    const Points points{Points::probabilities, p, y, {}};
    // The independent program computed the loss: the file has the gradient alone.
    EXPECT_NEAR(mean_loss(points), 0.2880903330956881, 1e-15);
    const std::vector<double> got = gradient(points, 1 / 200.0);
    for (size_t i = 0; i < want.size(); ++i)
        EXPECT_NEAR(got[i], want[i], 1e-12 * std::max(1.0, std::abs(want[i])));

    const std::vector<float> p32(p.begin(), p.end());
    std::vector<float> got32(p.size());
    const FocalPoints<float> points32{FocalPoints<float>::probabilities, p32, y, {}};
    EXPECT_EQ(focal_loss(Focal{}, points32).loss, focal_loss(Focal{}, points).loss);
    focal_gradient<float>(Focal{}, points32, 1 / 200.0, got32);
    for (size_t i = 0; i < want.size(); ++i)
        EXPECT_NEAR(static_cast<double>(got32[i]), want[i], 1e-7 * std::abs(want[i]));
}

TEST(Focal, OfLogitsIsThatOfTheirProbabilities) {
    std::vector<double> z, p;
    std::vector<uint8_t> y;
    for (double logit = -15; logit < 15; logit += 0.37) {
        z.push_back(logit);
        p.push_back(1 / (1 + std::exp(-logit)));
        y.push_back(z.size() % 3 == 0 ? 1 : 0);
    }
    const Points of_logits{Points::logits, z, y, {}}, of_p{Points::probabilities, p, y, {}};
    EXPECT_NEAR(mean_loss(of_logits), mean_loss(of_p), 1e-12);
    const std::vector<double> dz = gradient(of_logits), dp = gradient(of_p);
    for (size_t i = 0; i < z.size(); ++i) {
        EXPECT_NEAR(dz[i], dp[i] * p[i] * (1 - p[i]), 1e-9);
        // The formula of the specification.
        const double c = y[i] ? p[i] : 1 - p[i];
        const double want = 0.25 * (1 - c) * (1 - c) * (2 * c * std::log(c) - (1 - c));
        EXPECT_NEAR(dz[i], y[i] ? want : -want, 1e-9);
    }
}

TEST(Focal, AgreesWithDifferences) {
    std::vector<double> z = {-3, -0.5, 0.1, 2, 6}, p = {0.2, 0.4, 0.7, 0.8, 0.75};
    const std::vector<uint8_t> y = {1, 0, 1, 1, 0};
    for (const Focal focal : {Focal{}, Focal{0.6, 1}, Focal{1, 3.5}}) {
        for (auto* values : {&z, &p}) {
            const Points points{
                values == &z ? Points::logits : Points::probabilities, *values, y, {}};
            std::vector<double> slopes(5);
            focal_gradient<double>(focal, points, 1, slopes);
            kernels::test::expect_slopes(
                "gradient", values->data(), slopes.data(), 5,
                [&] { return focal_loss(focal, points).loss; }, 1e-6);
        }
    }
}

TEST(Focal, CountsSelectedPointsOnly) {
    const std::vector<double> p = {0.25, 0.5, 0.75};
    const std::vector<uint8_t> y = {1, 0, 1}, mask = {0, 3, 0}, none = {0, 0, 0};
    const FocalSum sum = focal_loss(Focal{}, Points{Points::probabilities, p, y, mask});
    EXPECT_EQ(sum.n_point, 1);
    EXPECT_NEAR(sum.loss, 0.25 * 0.25 * std::log(2.0), 1e-16);
    const std::vector<double> slopes = gradient({Points::probabilities, p, y, mask});
    EXPECT_EQ(slopes[0], 0);
    EXPECT_GT(slopes[1], 0);
    EXPECT_EQ(slopes[2], 0);
    EXPECT_EQ(focal_loss(Focal{}, Points{Points::probabilities, p, y, none}).n_point, 0);
    EXPECT_EQ(focal_loss(Focal{}, Points{}).n_point, 0);
}

TEST(Focal, BoundsLogarithmsAndNeverOverflows) {
    const std::vector<double> p = {0, 1, 0, 1, 1e-60}, z = {-1e30, 1e30, -1e30, 1e30, -800};
    const std::vector<uint8_t> y = {1, 0, 0, 1, 1};
    kernels::test::Traps traps;
    for (const Points& points :
         {Points{Points::probabilities, p, y, {}}, Points{Points::logits, z, y, {}}}) {
        EXPECT_EQ(focal_loss(Focal{}, points).loss, 0.25 * 100 * 3);
        for (double slope : gradient(points)) EXPECT_TRUE(std::isfinite(slope));
    }
    EXPECT_EQ(gradient({Points::logits, z, y, {}}),
              (std::vector<double>{-0.25, 0.25, 0, 0, -0.25}));
}

TEST(Focal, RefusesWhatDoesNotFit) {
    const std::vector<double> p = {0.5, 0.5};
    const auto status = [&](const Focal& focal, std::vector<uint8_t> y, std::vector<uint8_t> mask) {
        try {
            focal_loss(focal, Points{Points::probabilities, p, y, mask});
        } catch (const Error& error) {
            return error.status();
        }
        return Status::success;
    };
    EXPECT_EQ(status({}, {0, 1}, {}), Status::success);
    EXPECT_EQ(status({}, {0}, {}), Status::shape);
    EXPECT_EQ(status({}, {0, 1}, {1}), Status::shape);
    EXPECT_EQ(status({}, {0, 2}, {}), Status::invalid_argument);
    EXPECT_EQ(status({0.25, 0.5}, {0, 1}, {}), Status::invalid_argument);
}

}  // namespace
}  // namespace surrogate::kernels::hept::test
