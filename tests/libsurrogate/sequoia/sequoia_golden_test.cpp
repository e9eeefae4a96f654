// SPDX-License-Identifier: Apache-2.0
// The stored cases of Sequoia on one rank, and the table of self-checks of its specification.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/libsurrogate/sequoia/self_check_table.hpp"

namespace surrogate::test {
namespace {

const Options in_double{{"precision", "fp64"}};

double norm(const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) sum += value * value;
    return std::sqrt(sum);
}

double relative_l2(const std::vector<double>& found, const std::vector<double>& expected) {
    if (found.size() != expected.size()) return INFINITY;
    std::vector<double> difference(found);
    for (size_t i = 0; i < found.size(); ++i) difference[i] -= expected[i];
    return norm(difference) / norm(expected);
}

class SequoiaGolden : public testing::TestWithParam<std::string> {
protected:
    const std::string path = SURROGATE_TEST_DATA "/sequoia/" + GetParam() + ".safetensors";
    const GoldenFile file{path};
    const SequoiaCase points{file};
    const Context context;
    const Model model{context, path};
};

TEST_P(SequoiaGolden, InDoubleIsTheReference) {
    const GoldenTensor truth = file.tensor("check/output64/y");
    const std::vector<double> y = run(context, model, points, in_double);
    ASSERT_EQ(y.size(), truth.values.size());
    double largest = 0;
    for (const double value : truth.values) largest = std::max(largest, std::abs(value));
    for (size_t i = 0; i < y.size(); ++i)
        EXPECT_LE(std::abs(y[i] - truth.values[i]), 1e-12 * largest) << "row " << i;
}

TEST_P(SequoiaGolden, InSingleIsAsCloseAsPyTorch) {
    const std::vector<double> truth = file.tensor("check/output64/y").values;
    const double official = relative_l2(file.tensor("check/output/y").values, truth);
    const double bound = std::min(std::max(3 * official, 2e-6), 1e-3);
    for (const char* backend : {"ref", "simd"}) {
        const std::vector<double> y = run(context, model, points, {{"backend", backend}});
        EXPECT_LE(relative_l2(y, truth), bound) << backend;
    }
}

INSTANTIATE_TEST_SUITE_P(Files, SequoiaGolden,
                         testing::Values("points_2d_k16", "points_class_root_tied",
                                         "points_features_grad", "points_n1",
                                         "points_parent_complete_repeat", "points_small_grad",
                                         "sequence_grad", "sequence_no_ancestors_root",
                                         "sequence_topdown"),
                         [](const auto& name) { return name.param; });

class SequoiaSelfCheck : public testing::TestWithParam<Check> {};

TEST_P(SequoiaSelfCheck, GivesTheNumbersOfTheSpecification) {
    const Check& check = GetParam();
    const SmallCase small = check.made();
    const Context context;
    const Model model(context, small.disk.path());
    const std::vector<double> y = run(context, model, small.points, in_double);
    expect_equal(y.front(), check.first, "y[0]");
    if (!small.is_tokens) expect_equal(y.back(), check.last, "y[last]");
    expect_equal(norm(y) * norm(y), check.square, "sum of squares");
}

INSTANTIATE_TEST_SUITE_P(Table, SequoiaSelfCheck, testing::ValuesIn(self_checks()),
                         [](const auto& check) { return check.param.name; });

}  // namespace
}  // namespace surrogate::test
