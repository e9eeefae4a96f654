// SPDX-License-Identifier: Apache-2.0
// The stored cases of Sequoia on one rank, and the table of self-checks of its specification.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/support/answer.hpp"
#include "tests/support/sequoia_case.hpp"
#include "tests/support/sphere_models.hpp"

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

/// A row of the table.
struct Check {
    std::string name;
    nlohmann::json changes;
    int64_t n;
    double first, last, square;
};

void PrintTo(const Check& check, std::ostream* stream) {
    *stream << check.name;
}

class SequoiaSelfCheck : public testing::TestWithParam<Check> {};

/// The table gives 9 digits.
void expect_equal(double found, double expected, const char* what) {
    EXPECT_LE(std::abs(found - expected), 6e-9 * std::abs(expected)) << what << " " << found;
}

TEST_P(SequoiaSelfCheck, GivesTheNumbersOfTheSpecification) {
    const Check& check = GetParam();
    const bool is_tokens = check.changes.contains("pos_enc");
    const ModelOnDisk file(
        sequoia_model(is_tokens ? small_sequence(check.changes) : small_sequoia(check.changes)));
    const Context context;
    const Model model(context, file.path());
    const SequoiaCase points =
        is_tokens ? SequoiaCase::sequence(check.n) : SequoiaCase::wave(check.n);
    const std::vector<double> y = run(context, model, points, in_double);
    expect_equal(y.front(), check.first, "y[0]");
    if (!is_tokens) expect_equal(y.back(), check.last, "y[last]");
    expect_equal(norm(y) * norm(y), check.square, "sum of squares");
}

using J = nlohmann::json;
INSTANTIATE_TEST_SUITE_P(
    Table, SequoiaSelfCheck,
    testing::Values(
        Check{"Default", J::object(), 50, 2.11453008e-2, 1.58433086e-2, 1.43377350e-2},
        Check{"Parent", {{"ancestors", "parent"}}, 50, 1.96298311e-2, 1.53447681e-2, 1.30924251e-2},
        Check{"NoAncestors",
              {{"ancestors", "none"}},
              50,
              2.96960517e-2,
              1.65694322e-2,
              1.76597538e-2},
        Check{"Repeat", {{"ragged", "repeat"}}, 50, 2.09197892e-2, 1.56515592e-2, 1.42423379e-2},
        Check{"Complete",
              {{"seq_mode", "complete"}},
              50,
              3.01327536e-2,
              1.66493763e-2,
              1.90080759e-2},
        Check{
            "TopDown", {{"seq_mode", "top-down"}}, 50, 2.26081413e-2, 1.57953666e-2, 1.50860823e-2},
        Check{"Tied", {{"tied_weights", true}}, 50, 4.04673663e-2, 1.20372007e-2, 4.83115061e-2},
        Check{
            "InSequence", {{"tree", "sequence"}}, 50, 2.87061675e-2, 1.60175421e-2, 2.22501638e-2},
        Check{"Root", {{"probe_layer", "root"}}, 50, 1.61464390e-2, 1.61464390e-2, 2.60707494e-4},
        Check{"Mean", {{"pooling_mode", "MEAN"}}, 50, 1.21088326e-2, 1.21088326e-2, 1.46623828e-4},
        Check{"FullGroups", J::object(), 27, 1.97214910e-2, 1.23698968e-2, 8.21745947e-3},
        Check{"TwoPoints", J::object(), 2, 2.08205072e-2, 2.69973228e-4, 4.33566407e-4},
        Check{"OnePoint", J::object(), 1, 2.87131999e-2, 2.87131999e-2, 8.24447850e-4},
        Check{"Tokens", {{"pos_enc", "tokens"}}, 50, -3.17936103e-2, 0, 2.48787560e-3}),
    [](const auto& check) { return check.param.name; });

}  // namespace
}  // namespace surrogate::test
