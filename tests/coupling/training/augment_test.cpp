// SPDX-License-Identifier: Apache-2.0
// Random transforms of training samples: points, vectors, and random numbers.
#include "coupling/training/augment.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace surrogate::tool {

namespace {

constexpr std::array<double, 3> origin = {0, 0, 0};

/// A quarter turn about z.
Transform quarter_turn() {
    Transform transform;
    transform.matrix = {{{0, -1, 0}, {1, 0, 0}, {0, 0, 1}}};
    return transform;
}

std::vector<Channel> fields(const std::vector<std::string>& names) {
    std::vector<Channel> channels;
    for (const std::string& name : names) channels.push_back({name, name, "", -1});
    return channels;
}

double determinant(const Transform::Matrix& m) {
    return m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) -
           m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
           m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
}

TEST(Augment, QuarterTurnOfPointsAndVectors) {
    Transform turn = quarter_turn();
    std::vector<double> points = {3, 1, 2, 2};  // two points of a plane
    transform_points(turn, origin, {0, 1}, 2, &points);
    EXPECT_EQ(points, (std::vector<double>{-1, 3, -2, 2}));
    points = {3, 1, 2, 2};
    turn.scale = 10;
    transform_points(turn, {2, 1, 0}, {0, 1}, 2, &points);
    EXPECT_EQ(points, (std::vector<double>{2, 11, -8, 1}));
    // Vectors do not depend on the center and the scale. p.z has no partner and stays.
    const auto vectors = vectors_of(fields({"v.y", "t", "v.x", "p.z", "stress"}));
    ASSERT_EQ(vectors.size(), 2u);
    EXPECT_EQ(vectors[0], (VectorFields{-1, -1, 3}));
    EXPECT_EQ(vectors[1], (VectorFields{2, 0, -1}));
    std::vector<std::vector<double>> values = {{0, 4}, {7, 7}, {1, 3}, {5, 6}, {8, 8}};
    transform_vectors(turn, vectors, &values);
    EXPECT_EQ(values[2], (std::vector<double>{0, -4}));
    EXPECT_EQ(values[0], (std::vector<double>{1, 3}));
    EXPECT_EQ(values[1], (std::vector<double>{7, 7}));
    EXPECT_EQ(values[3], (std::vector<double>{5, 6}));
}

TEST(Augment, FurtherCoordinatesStay) {
    std::vector<double> points = {1, 2, 3, 4, 5};
    transform_points(quarter_turn(), origin, {0}, 5, &points);
    EXPECT_EQ(points, (std::vector<double>{-2, 1, 3, 4, 5}));
}

TEST(Augment, RandomRotationsAreOrthogonalAndUniform) {
    Augmentation augmentation;
    augmentation.rotate = "all";
    augmentation.least_scale = 0.5;
    augmentation.largest_scale = 2;
    constexpr int n = 4000;
    Transform::Matrix sum{};
    double low = 9, high = 0;
    for (int64_t index = 0; index < n; ++index) {
        const Transform transform = random_transform(augmentation, 3, 1, index);
        const auto& m = transform.matrix;
        EXPECT_NEAR(determinant(m), 1, 1e-12);
        for (size_t i = 0; i < 3; ++i) {
            for (size_t j = 0; j < 3; ++j) {
                sum[i][j] += m[i][j];
                double product = 0;
                for (size_t k = 0; k < 3; ++k) product += m[i][k] * m[j][k];
                EXPECT_NEAR(product, i == j ? 1 : 0, 1e-12);
            }
        }
        low = std::min(low, transform.scale);
        high = std::max(high, transform.scale);
    }
    // The entries of a uniform rotation have mean 0 and variance 1/3.
    for (const auto& row : sum)
        for (const double entry : row) EXPECT_LT(std::abs(entry / n), 4 * std::sqrt(1.0 / 3 / n));
    EXPECT_GE(low, 0.5);
    EXPECT_LT(low, 0.51);
    EXPECT_LE(high, 2);
    EXPECT_GT(high, 1.99);
}

TEST(Augment, AnglesAndFlipsAreWithinTheirLimits) {
    Augmentation augmentation;
    augmentation.rotate = "z";
    augmentation.degrees = 30;
    double largest = 0, smallest = 0;
    for (int64_t index = 0; index < 1000; ++index) {
        const auto m = random_transform(augmentation, 1, 0, index).matrix;
        const double angle = std::atan2(m[1][0], m[0][0]) * 180 / M_PI;
        largest = std::max(largest, angle);
        smallest = std::min(smallest, angle);
        EXPECT_EQ(m[2], (std::array<double, 3>{0, 0, 1}));
    }
    EXPECT_NEAR(largest, 30, 0.5);
    EXPECT_NEAR(smallest, -30, 0.5);
    Augmentation flips;
    flips.flip = {true, false, true};
    int n_x = 0, n_both = 0;
    for (int64_t index = 0; index < 1000; ++index) {
        const auto m = random_transform(flips, 1, 0, index).matrix;
        EXPECT_EQ(m[1][1], 1);
        n_x += m[0][0] == -1 ? 1 : 0;
        n_both += m[0][0] == -1 && m[2][2] == -1 ? 1 : 0;
    }
    EXPECT_NEAR(n_x, 500, 65);
    EXPECT_NEAR(n_both, 250, 65);
}

TEST(Augment, EqualArgumentsGiveEqualTransformsAndEpochsDiffer) {
    Augmentation augmentation;
    augmentation.rotate = "z";
    const auto angle = [&](int64_t seed, int64_t epoch, int64_t index) {
        return random_transform(augmentation, seed, epoch, index).matrix[0][0];
    };
    EXPECT_EQ(angle(1, 2, 3), angle(1, 2, 3));
    EXPECT_NE(angle(1, 2, 3), angle(1, 3, 3));
    EXPECT_NE(angle(1, 2, 3), angle(2, 2, 3));
    EXPECT_NE(angle(1, 2, 3), angle(1, 2, 4));
}

TEST(Augment, JitterIsNormalAndBelongsToTheIdOfAPoint) {
    Augmentation augmentation;
    augmentation.jitter = 0.1;
    const Transform transform = random_transform(augmentation, 1, 0, 0);
    constexpr int64_t n = 20000;
    std::vector<int64_t> ids(n);
    for (int64_t i = 0; i < n; ++i) ids[static_cast<size_t>(i)] = i;
    std::vector<double> points(2 * n);
    transform_points(transform, origin, ids, 2, &points);
    for (size_t axis = 0; axis < 2; ++axis) {
        double mean = 0, square = 0, fourth = 0, other = 0;
        for (size_t i = axis; i < points.size(); i += 2) {
            mean += points[i] / n;
            square += points[i] * points[i] / n;
            fourth += std::pow(points[i], 4) / n;
            other += points[i] * points[i ^ 1] / n;
        }
        EXPECT_NEAR(mean, 0, 4 * 0.1 / std::sqrt(n));
        EXPECT_NEAR(std::sqrt(square), 0.1, 0.002);
        EXPECT_NEAR(fourth / square / square, 3, 0.15);
        EXPECT_NEAR(other / square, 0, 4 / std::sqrt(n));
    }
    std::vector<double> few = {0, 0, 0, 0};
    transform_points(transform, origin, {7, 19999}, 2, &few);
    EXPECT_EQ(few, (std::vector<double>{points[14], points[15], points[39998], points[39999]}));
}

// v = a (p - c) holds before and after a transform about c without scale.
TEST(Augment, VectorFieldTurnsWithItsPoints) {
    Augmentation augmentation;
    augmentation.rotate = "all";
    augmentation.flip = {true, true, false};
    const std::array<double, 3> center = {2, 1, -1};
    const std::vector<double> a = {0.5, -2, 3};
    for (int64_t index = 0; index < 20; ++index) {
        const Transform transform = random_transform(augmentation, 5, 0, index);
        std::vector<double> points = {1, 0, 0.5, 3, 3, -2, 2, 1, 0};
        std::vector<std::vector<double>> v(3);
        for (size_t i = 0; i < points.size(); ++i)
            v[i % 3].push_back(a[i / 3] * (points[i] - center[i % 3]));
        const auto before = points;
        transform_points(transform, center, {0, 1, 2}, 3, &points);
        transform_vectors(transform, vectors_of(fields({"v.x", "v.y", "v.z"})), &v);
        EXPECT_NE(points, before);
        for (size_t i = 0; i < points.size(); ++i)
            EXPECT_NEAR(v[i % 3][i / 3], a[i / 3] * (points[i] - center[i % 3]), 1e-14);
    }
}

}  // namespace

}  // namespace surrogate::tool
