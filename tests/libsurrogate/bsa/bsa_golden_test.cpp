// SPDX-License-Identifier: Apache-2.0
// The stored cases of Ball Sparse Attention on one rank: predictions, and the blocks that groups
// choose.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/libsurrogate/bsa/bsa_runs.hpp"
#include "tests/support/data_path.hpp"

namespace surrogate::test {
namespace {

const Options in_double{{"precision", "fp64"}};

double relative_l2(const std::vector<double>& found, const std::vector<double>& expected) {
    if (found.size() != expected.size()) return INFINITY;
    double error = 0, size = 0;
    for (size_t i = 0; i < found.size(); ++i) {
        error += (found[i] - expected[i]) * (found[i] - expected[i]);
        size += expected[i] * expected[i];
    }
    return std::sqrt(error / size);
}

class BsaGolden : public testing::TestWithParam<std::string> {
protected:
    const std::string path = stored_case("bsa/" + GetParam());
    const GoldenFile file{path};
    const SequoiaCase points{file};
    const std::vector<double> truth = file.tensor("check/output64/y").values;
    const Context context;
    const Model model{context, path};
};

TEST_P(BsaGolden, InDoubleIsTheReference) {
    EXPECT_LE(difference(run(context, model, points, in_double), truth), 1e-12);
}

TEST_P(BsaGolden, InSingleIsAsCloseAsPyTorch) {
    const double official = relative_l2(file.tensor("check/output/y").values, truth);
    const double bound = std::min(std::max(3 * official, 2e-6), 1e-3);
    for (const char* backend : {"ref", "simd"}) {
        const std::vector<double> y = run(context, model, points, {{"backend", backend}});
        EXPECT_LE(relative_l2(y, truth), bound) << backend;
    }
}

INSTANTIATE_TEST_SUITE_P(Files, BsaGolden,
                         testing::Values("ball_baseline", "bsa_1d", "bsa_features_rotated_ball",
                                         "bsa_group8_block4", "bsa_group_compression_grad",
                                         "bsa_mean_static_sigma_grad", "bsa_medium", "bsa_n5",
                                         "bsa_no_group", "bsa_paper_width_2d", "bsa_small_grad",
                                         "erwin_ball_attention_official", "erwin_fourier_grad",
                                         "erwin_features_grad", "erwin_linear_grad",
                                         "full_baseline"),
                         [](const auto& name) { return name.param; });

class BsaChoice : public testing::TestWithParam<std::string> {
protected:
    /// (heads, groups, k) of a layer.
    void set_expected(int64_t layer) {
        chosen.push_back(file.tensor("check/layers/" + std::to_string(layer) + "/chosen"));
    }
    void SetUp() override {
        for (int64_t layer = 0; file.has("check/layers/" + std::to_string(layer) + "/chosen");
             ++layer) {
            set_expected(layer);
        }
        ASSERT_FALSE(chosen.empty());
    }
    double expected(int64_t layer, int64_t head, int64_t group, size_t i) const {
        const GoldenTensor& blocks = chosen[static_cast<size_t>(layer)];
        return blocks
            .values[static_cast<size_t>((head * blocks.shape[1] + group) * blocks.shape[2]) + i];
    }

    const std::string path = stored_case("bsa/" + GetParam());
    const GoldenFile file{path};
    const SequoiaCase points{file};
    std::vector<GoldenTensor> chosen;
};

TEST_P(BsaChoice, IsThatOfTheReference) {
    for (const bool is_double : {true, false}) {
        int64_t n_seen = 0, n_different = 0;
        const ChoiceHook hook = [&](int64_t layer, int64_t head, int64_t group,
                                    std::span<int32_t> blocks) {
            EXPECT_EQ(std::ssize(blocks), chosen[static_cast<size_t>(layer)].shape[2]);
            for (size_t i = 0; i < blocks.size(); ++i) {
                ++n_seen;
                n_different += blocks[i] == expected(layer, head, group, i) ? 0 : 1;
            }
        };
        is_double ? predict<double>(path, points, hook) : predict<float>(path, points, hook);
        int64_t n_expected = 0;
        for (const GoldenTensor& layer : chosen) n_expected += std::ssize(layer.values);
        EXPECT_EQ(n_seen, n_expected);
        EXPECT_EQ(n_different, 0) << (is_double ? "double" : "single");
    }
}

TEST_P(BsaChoice, MayBeImposed) {
    const std::vector<double> truth = file.tensor("check/output64/y").values;
    const ChoiceHook right = [&](int64_t layer, int64_t head, int64_t group,
                                 std::span<int32_t> blocks) {
        for (size_t i = 0; i < blocks.size(); ++i)
            blocks[i] = static_cast<int32_t>(expected(layer, head, group, i));
    };
    EXPECT_LE(difference(predict<double>(path, points, right), truth), 1e-12);
    const ChoiceHook wrong = [&](int64_t, int64_t, int64_t, std::span<int32_t> blocks) {
        for (size_t i = 0; i < blocks.size(); ++i) blocks[i] = static_cast<int32_t>(i);
    };
    EXPECT_GT(difference(predict<double>(path, points, wrong), truth), 1e-6);
}

INSTANTIATE_TEST_SUITE_P(Files, BsaChoice,
                         testing::Values("bsa_small_grad", "bsa_group_compression_grad",
                                         "bsa_no_group", "bsa_group8_block4",
                                         "bsa_features_rotated_ball", "bsa_medium",
                                         "bsa_paper_width_2d"),
                         [](const auto& name) { return name.param; });

}  // namespace
}  // namespace surrogate::test
