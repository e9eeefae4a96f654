// SPDX-License-Identifier: Apache-2.0
#include <bit>

#include "tests/kernels/base/reference_queue.hpp"
#include "tests/kernels/flare/flare_problem.hpp"

namespace surrogate::kernels::test {
namespace {

class FlareExtreme : public OnTarget {};
SURROGATE_ON_ALL_TARGETS(FlareExtreme);

/// Quiet NaNs of different payloads: what 0xff bytes give, the usual one of either sign, one with a
/// low bit.
const std::vector<float> nans = {
    std::bit_cast<float>(0xffffffffu), std::bit_cast<float>(0x7fffffffu),
    std::bit_cast<float>(0x7fc00000u), std::bit_cast<float>(0xffc00000u),
    std::bit_cast<float>(0x7fc00001u), std::bit_cast<float>(0x7fc00101u)};

TEST_P(FlareExtreme, HugeScoresAreExactMaxima) {
    auto random = generator();
    for (double score_size : {200.0, 1e4, 1.5e6, 1e30, 1e36}) {
        SCOPED_TRACE(score_size);
        const FlareCase c = {{2, 24, 1},
                             {65, {0, 1}}};  // one channel: a score is one product, rounded once
        const FlareProblem<float> problem(c, random, score_size);
        const FlareProblem<double> problem64(problem);
        const auto z = encode_to_latents<float>(queue(), problem);
        const auto z64 = encode_to_latents<double>(reference, problem64);
        // The rounding of a score is an absolute error in the exponent; for huge scores one weight
        // is 1, the rest 0.
        const double exponent_error = score_size < 1e5 ? problem.largest_score() : 0;
        const double bound = epsilon<float> * (64 + 4 * exponent_error) * 4;
        for (int64_t i = 0; i < z.size(); ++i) ASSERT_LE(std::abs(z[i] - z64[i]), bound) << i;
        const auto y = decode_points<float>(queue(), problem, rounded<float>(z64));
        const auto y64 = decode_points<double>(reference, problem64, z64);
        expect_close<float>(y.input_view(), y64.input_view(), bound);
    }
}

TEST_P(FlareExtreme, ScoresOfBothSignsNearTheLargestNumberDoNotOverflow) {
    // Scores +-3e38 and 0: their differences are not numbers of single precision.
    const flare::Sizes sizes{1, 3, 1};
    const float q[lane_count] = {-1, 0, 1};
    TileBox<float> k(TileBox<float>::input, 1, 3), v(TileBox<float>::input, 1, 3),
        y(TileBox<float>::output, 1, 3);
    const float points[] = {-3e38f, 1, 3e38f};
    k.fill([&](int64_t, int64_t i) { return points[i]; });
    v.fill([](int64_t, int64_t i) { return i + 1; });
    PartialBox<float> box(sizes);
    const float z[] = {10, 20, 30};
    {
        Traps traps;
        flare::encode<float>(queue(), {sizes, q, q}, k.input_view(), v.input_view(), box.partial);
        flare::encode<float>(queue(), {sizes, q, q}, k.input_view(), v.input_view(), box.partial);
        flare::decode<float>(queue(), {sizes, q, q}, k.input_view(), z, y.view());
    }
    const auto latents = latents_of(box);
    EXPECT_EQ(latents[0], 1);
    EXPECT_EQ(latents[1], 2);
    EXPECT_EQ(latents[2], 3);
    EXPECT_EQ(y.view()(0, 0), 10);
    EXPECT_NEAR(y.view()(0, 1), (10 / 2.0 + 20 + 30 * 2) / 3.5, 1e-5);
    EXPECT_EQ(y.view()(0, 2), 30);
}

TEST_P(FlareExtreme, RisingAndFallingMaximaAcrossCallsAgreeWithOneCall) {
    for (float step : {1.0f, 100.0f, -100.0f, 1e6f, -1e30f}) {
        const flare::Sizes sizes{1, 1, 1};
        const float q[lane_count] = {1};
        PartialBox<float> box(sizes);
        for (int call = 0; call < 4; ++call) {
            TileBox<float> k(TileBox<float>::input, 1, 1), v(TileBox<float>::input, 1, 1);
            k.fill([&](int64_t, int64_t) { return step * static_cast<float>(call); });
            v.fill([&](int64_t, int64_t) { return call; });
            Traps traps;
            flare::encode<float>(queue(), {sizes, q, q}, k.input_view(), v.input_view(),
                                 box.partial);
        }
        // Weights 2^(step * call): for |step| >= 100 all but one are nothing.
        const double want = step == 1 ? (2 + 2 * 4 + 3 * 8) / 15.0 : step > 0 ? 3 : 0;
        EXPECT_NEAR(latents_of(box)[0], want, 1e-6) << "step " << step;
    }
}

TEST_P(FlareExtreme, NaNInKeysReachesEveryLatentOfItsHead) {
    auto random = generator();
    for (float nan : nans) {
        for (int64_t place : {0, 8, 32, 33}) {
            FlareProblem<float> problem({{2, 24, 4}, {34, {}}}, random);
            problem.k.view()(4 + 2, place) = nan;  // head 1
            PartialBox<float> box(problem.sizes);
            for (int call = 0; call < 2; ++call)  // the second call must not wash it out
                flare::encode<float>(queue(), problem.queries(), problem.k.input_view(),
                                     problem.v.input_view(), box.partial);
            for (int64_t m = 0; m < 24; ++m) {
                EXPECT_TRUE(std::isnan(box.partial.sum(1)[m]));
                EXPECT_FALSE(std::isnan(box.partial.sum(0)[m]));
                EXPECT_FALSE(std::isnan(box.partial.maximum(1)[m])) << "maxima are reduced by max";
            }
        }
    }
}

TEST_P(FlareExtreme, NaNInValuesReachesEveryLatentOfItsChannel) {
    auto random = generator();
    for (float nan : nans) {
        FlareProblem<float> problem({{2, 24, 4}, {34, {}}}, random);
        problem.v.view()(4 + 2, 33) = nan;
        PartialBox<float> box(problem.sizes);
        flare::encode<float>(queue(), problem.queries(), problem.k.input_view(),
                             problem.v.input_view(), box.partial);
        for (int64_t m = 0; m < 24; ++m) {
            EXPECT_TRUE(std::isnan(box.partial.value(1, 2)[m]));
            EXPECT_FALSE(std::isnan(box.partial.value(1, 1)[m]));
        }
    }
}

TEST_P(FlareExtreme, NaNInDecodeStaysAtItsPointOrChannel) {
    auto random = generator();
    for (float nan : nans) {
        FlareProblem<float> problem({{2, 24, 4}, {34, {}}}, random);
        Buffer<float> z(problem.n_score());
        std::fill(z.begin(), z.end(), 1.0f);
        TileBox<float> y(TileBox<float>::output, 8, 34);
        problem.k.view()(4 + 1, 33) = nan;
        flare::decode<float>(queue(), problem.queries(), problem.k.input_view(), z.data(),
                             y.view());
        for (int64_t c = 0; c < 8; ++c)
            for (int64_t i = 0; i < 34; ++i)
                ASSERT_EQ(std::isnan(y.view()(c, i)), c >= 4 && i == 33) << c << ", " << i;
        z[(24 + 7) * 4 + 2] = nan;  // head 1, latent 7, channel 2
        flare::decode<float>(queue(), problem.queries(), problem.k.input_view(), z.data(),
                             y.view());
        for (int64_t i = 0; i < 34; ++i) {
            ASSERT_TRUE(std::isnan(y.view()(6, i)));
            ASSERT_FALSE(std::isnan(y.view()(2, i)));
        }
    }
}

TEST_P(FlareExtreme, OverflowOfScoresIsNaNAndNeverANumber) {
    auto random = generator();
    FlareProblem<float> problem({{1, 24, 2}, {20, {}}}, random);
    problem.set_query(0, 5, 0, 1e20f);
    problem.k.view()(0, 3) = 1e20f;  // S = inf in latent 5
    PartialBox<float> box(problem.sizes);
    flare::encode<float>(queue(), problem.queries(), problem.k.input_view(), problem.v.input_view(),
                         box.partial);
    EXPECT_TRUE(std::isnan(box.partial.sum(0)[5]));
    EXPECT_FALSE(std::isnan(box.partial.sum(0)[4]));
}

}  // namespace
}  // namespace surrogate::kernels::test
