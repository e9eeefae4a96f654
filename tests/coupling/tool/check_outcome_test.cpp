// SPDX-License-Identifier: Apache-2.0
// The bound of a check: what passes and what cannot.
#include "coupling/case/check_outcome.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <surrogate/surrogate.hpp>
#include <vector>

namespace surrogate::tool {
namespace {

const Model& model_of(const std::string& family) {
    static const Context context;
    static const Model flare(context, SURROGATE_SHARE "/models/darcy_flow.safetensors");
    static const Model sphere(context, SURROGATE_SHARE "/models/shallow_water.safetensors");
    return family == "sphere" ? sphere : flare;
}

/// Judged by the bound of the library.
CheckOutcome judge(const Evidence& evidence, const double* y, const std::string& precision,
                   const std::string& family) {
    return tool::judge(evidence, y, [&](bool is_double, double official) {
        return model_of(family).check_bound(precision, is_double, official);
    });
}

/// A case of two numbers of which the first is off by `official` and `run`, relative to its norm.
struct TwoNumbers {
    std::vector<double> truth{3, 4};
    std::vector<float> official{3, 4};
    std::vector<double> y{3, 4};

    TwoNumbers& with(double official_error, double error) {
        official[0] += static_cast<float>(5 * official_error);
        y[0] += 5 * error;
        return *this;
    }
    Evidence evidence() const { return {official.data(), truth.data(), truth.size()}; }
    CheckOutcome judged(const std::string& precision = "fp32",
                        const std::string& family = "flare") const {
        return judge(evidence(), y.data(), precision, family);
    }
};

TEST(CheckOutcome, ThreeTimesTheOfficialErrorIsAllowed) {
    const CheckOutcome outcome = TwoNumbers().with(1e-4, 2.9e-4).judged();
    EXPECT_NEAR(outcome.official_relative_l2, 1e-4, 1e-6);
    EXPECT_NEAR(outcome.relative_l2, 2.9e-4, 1e-12);
    EXPECT_DOUBLE_EQ(outcome.bound, 3 * outcome.official_relative_l2);
    EXPECT_NEAR(outcome.max_abs, 5 * 2.9e-4, 1e-12);
    EXPECT_TRUE(outcome.is_passed);
    EXPECT_FALSE(TwoNumbers().with(1e-4, 3.1e-4).judged().is_passed);
}

TEST(CheckOutcome, ALuckyOfficialRunLeavesTwoInAMillion) {
    EXPECT_EQ(TwoNumbers().judged().bound, 2e-6);
    EXPECT_TRUE(TwoNumbers().with(0, 1.9e-6).judged().is_passed);
    EXPECT_FALSE(TwoNumbers().with(0, 2.1e-6).judged().is_passed);
}

TEST(CheckOutcome, TheBoundHasACeiling) {
    const CheckOutcome outcome = TwoNumbers().with(0.05, 1.1e-3).judged();
    EXPECT_FALSE(outcome.is_contradictory);
    EXPECT_EQ(outcome.bound, 1e-3);
    EXPECT_FALSE(outcome.is_passed);
    EXPECT_TRUE(TwoNumbers().with(0.05, 0.9e-3).judged().is_passed);
    // Narrow operands err more, but less than a wrong activation function (8 %).
    EXPECT_EQ(TwoNumbers().with(0.05, 0).judged("tf32").bound, 2e-2);
    EXPECT_EQ(TwoNumbers().with(0.05, 0).judged("fp16").bound, 2e-2);
    EXPECT_EQ(TwoNumbers().with(0.05, 0).judged("bf16").bound, 5e-2);
    EXPECT_EQ(TwoNumbers().judged("tf32").bound, 3e-3);
    EXPECT_EQ(TwoNumbers().judged("bf16").bound, 3e-2);
}

TEST(CheckOutcome, ACaseThatContradictsItselfPassesNothing) {
    for (const double wrong : {0.11, 1.0, 1000.0})
        for (const char* precision : {"fp32", "fp64", "tf32", "bf16"}) {
            const CheckOutcome outcome = TwoNumbers().with(wrong, 0).judged(precision);
            EXPECT_TRUE(outcome.is_contradictory) << wrong;
            EXPECT_EQ(outcome.relative_l2, 0);
            EXPECT_FALSE(outcome.is_passed) << wrong << " " << precision;
        }
    TwoNumbers not_finite;
    not_finite.official[1] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_TRUE(not_finite.judged().is_contradictory);
    EXPECT_FALSE(not_finite.judged().is_passed);
    EXPECT_FALSE(TwoNumbers().with(0.09, 0).judged().is_contradictory);
}

TEST(CheckOutcome, ExactZerosCanPass) {
    TwoNumbers zero{{0, 0}, {0, 0}, {0, 0}};
    EXPECT_TRUE(zero.judged().is_absolute);
    EXPECT_EQ(zero.judged().relative_l2, 0);
    EXPECT_TRUE(zero.judged().is_passed);
    zero.y = {1e-6, 1e-6};  // a root mean square of 1e-6
    EXPECT_DOUBLE_EQ(zero.judged().relative_l2, 1e-6);
    EXPECT_TRUE(zero.judged().is_passed);
    zero.y = {3e-6, 3e-6};
    EXPECT_FALSE(zero.judged().is_passed);
    zero.official = {1, 1};
    zero.y = {0, 0};
    EXPECT_TRUE(zero.judged().is_contradictory);
    EXPECT_FALSE(zero.judged().is_passed);
}

TEST(CheckOutcome, PredictionsThatAreNotFiniteDoNotPass) {
    for (const double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
        TwoNumbers numbers;
        numbers.y[1] = bad;
        EXPECT_FALSE(numbers.judged().is_passed) << bad;
        EXPECT_FALSE(std::isfinite(numbers.judged().max_abs)) << bad;
    }
}

TEST(CheckOutcome, WithoutAnOfficialRunTheBoundIsOneInAHundredThousand) {
    TwoNumbers numbers;
    numbers.y[0] += 5 * 0.9e-5;
    const auto judged = [&](const char* precision, const char* family) {
        return judge({nullptr, numbers.truth.data(), 2}, numbers.y.data(), precision, family);
    };
    EXPECT_EQ(judged("fp32", "flare").bound, 1e-5);
    EXPECT_TRUE(std::isnan(judged("fp32", "flare").official_relative_l2));
    EXPECT_TRUE(judged("fp32", "flare").is_passed);
    EXPECT_EQ(judged("fp64", "flare").bound, 1e-10);
    EXPECT_EQ(judged("fp64", "sphere").bound, 1e-6);
    numbers.y[0] += 5 * 0.2e-5;
    EXPECT_FALSE(judged("fp32", "flare").is_passed);
}

TEST(CheckOutcome, WithoutTheDoubleRunTheSingleOneIsTheTruth) {
    TwoNumbers numbers;
    numbers.y[0] += 5 * 0.9e-5;
    const Evidence evidence{numbers.official.data(), nullptr, 2};
    EXPECT_FALSE(evidence.is_double());
    // Also of a run in double precision: what is left is the error of the truth.
    for (const char* precision : {"fp32", "fp64"}) {
        EXPECT_EQ(judge(evidence, numbers.y.data(), precision, "flare").bound, 1e-5);
        EXPECT_TRUE(judge(evidence, numbers.y.data(), precision, "flare").is_passed);
    }
    EXPECT_EQ(judge(evidence, numbers.y.data(), "bf16", "flare").bound, 3e-2);
    numbers.y[0] += 5 * 0.2e-5;
    EXPECT_FALSE(judge(evidence, numbers.y.data(), "fp64", "flare").is_passed);
}

TEST(CheckOutcome, SquaresNeitherOverflowNorVanish) {
    for (const double scale : {1e-300, 1e-170, 1e300}) {
        TwoNumbers numbers;
        for (double& value : numbers.truth) value *= scale;
        numbers.y = numbers.truth;
        const Evidence evidence{nullptr, numbers.truth.data(), 2};
        EXPECT_TRUE(judge(evidence, numbers.y.data(), "fp64", "flare").is_passed) << scale;
        numbers.y[0] *= 1 + 1e-3;
        const CheckOutcome outcome = judge(evidence, numbers.y.data(), "fp64", "flare");
        EXPECT_NEAR(outcome.relative_l2, 0.6e-3, 1e-9) << scale;
        EXPECT_FALSE(outcome.is_passed) << scale;
    }
}

}  // namespace
}  // namespace surrogate::tool
