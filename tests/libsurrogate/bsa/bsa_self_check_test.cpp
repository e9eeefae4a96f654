// SPDX-License-Identifier: Apache-2.0
// The table of self-checks of the specification of Ball Sparse Attention, in double precision.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/libsurrogate/bsa/bsa_runs.hpp"
#include "tests/support/bsa_models.hpp"
#include "tests/support/sphere_models.hpp"

namespace surrogate::test {
namespace {

using nlohmann::json;

/// A row of the table. Score gaps go down to 4e-7.
struct Check {
    std::string name;
    int64_t n;
    json changes, attention;
    double first, last, square;
    double dqkv, dpos;            ///< squared norms of two gradients
    std::vector<int32_t> choice;  ///< of layer 0, head 0, group 0
};

double square(const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) sum += value * value;
    return sum;
}

/// The table gives 9 digits.
void expect_equal(double found, double expected, const char* what) {
    EXPECT_LE(std::abs(found - expected), 6e-9 * std::abs(expected)) << what << " " << found;
}

class BsaSelfCheck : public testing::TestWithParam<Check> {};

TEST_P(BsaSelfCheck, GivesTheNumbersOfTheSpecification) {
    const Check& check = GetParam();
    const ModelOnDisk file(bsa_network(small_bsa(check.changes, check.attention)).bytes());
    const SequoiaCase points = SequoiaCase::wave(check.n);
    std::vector<int32_t> choice;
    const ChoiceHook hook = [&](int64_t layer, int64_t head, int64_t group,
                                std::span<int32_t> blocks) {
        if (layer == 0 && head == 0 && group == 0) choice.assign(blocks.begin(), blocks.end());
    };
    const std::vector<double> y = predict<double>(file.path(), points, hook);
    EXPECT_EQ(choice, check.choice);
    expect_equal(y.front(), check.first, "y[0]");
    expect_equal(y.back(), check.last, "y[last]");
    expect_equal(square(y), check.square, "sum of squares");

    const Gradients found = gradients<double>(file.path(), points, kernels::Queue());
    expect_equal(2 * found.loss, check.square, "sum of squares beside gradients");
    expect_equal(square(found.by_name.at("main_model.layers.0.attn.qkv.weight")), check.dqkv,
                 "gradient of qkv");
    expect_equal(square(found.positions), check.dpos, "gradient of positions");
}

const json same = json::object();
const Check table[] = {
    {"Default",
     50,
     same,
     same,
     4.02239527e-3,
     -1.05155880e-1,
     5.55199270e-1,
     7.87932581e-1,
     4.42416016e-3,
     {9, 11}},
    {"NoGroupSelection",
     50,
     same,
     {{"use_group_selection", false}},
     3.04711150e-3,
     -1.06447269e-1,
     5.57434345e-1,
     7.74936592e-1,
     4.39139358e-3,
     {9, 11}},
    {"GroupCompression",
     50,
     same,
     {{"use_coarse_q_attn", true}, {"use_coarse_q_importance", true}},
     1.54006948e-1,
     1.21078222e-1,
     1.14612153,
     2.03980543e-1,
     4.38210073e-3,
     {14, 15}},
    {"MeanStaticSigma",
     50,
     {{"sigma_trainable", true}},
     {{"use_compress_mlp", false}, {"use_token_gated_attention", false}},
     2.22926859e-1,
     1.97047774e-1,
     2.52585776,
     2.16495015e+1,
     3.49869551e-2,
     {6, 8}},
    {"GroupsOf8",
     50,
     same,
     {{"group_selection_size", 8}},
     3.31282900e-3,
     -1.03815591e-1,
     5.56365774e-1,
     7.75912302e-1,
     4.33950877e-3,
     {9, 11}},
    {"RotatedBalls",
     50,
     {{"rotated_order", "ball"}},
     same,
     2.76094021e-3,
     -1.00065957e-1,
     5.43987195e-1,
     7.94034659e-1,
     4.23985146e-3,
     {9, 11}},
    {"BallOnly",
     50,
     {{"attention_type", "ball"}},
     same,
     1.01586550e-1,
     5.91562591e-2,
     3.52181323e-1,
     3.98119126e-1,
     4.67333806e-4,
     {}},
    {"Full",
     50,
     {{"attention_type", "global"}},
     same,
     -5.96815159e-2,
     -7.96209034e-2,
     1.78009179e-1,
     1.09264448e-1,
     4.48534644e-4,
     {}},
    {"OneBall",
     16,
     same,
     same,
     -5.02946673e-3,
     -1.66616333e-1,
     1.94465428e-1,
     1.00052701e-1,
     1.72030395e-3,
     {0, 3}},
    {"FivePoints",
     5,
     same,
     same,
     -1.82701411e-2,
     -7.22510329e-2,
     5.33097977e-2,
     7.11933592e-3,
     3.22261365e-4,
     {0, 1}},
    {"OnePoint",
     1,
     same,
     same,
     -4.47290886e-2,
     -4.47290886e-2,
     2.00069136e-3,
     1.14922887e-4,
     1.17494541e-5,
     {0}},
};

INSTANTIATE_TEST_SUITE_P(Table, BsaSelfCheck, testing::ValuesIn(table),
                         [](const auto& check) { return check.param.name; });

}  // namespace
}  // namespace surrogate::test
