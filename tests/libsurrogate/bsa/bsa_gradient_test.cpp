// SPDX-License-Identifier: Apache-2.0
// Compares gradients of 0.5 sum(y^2) with the stored cases, and gradients of single precision and
// of threads with double precision.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "libsurrogate/src/model/bsa/gradient.hpp"
#include "tests/libsurrogate/bsa/bsa_runs.hpp"

namespace surrogate::test {
namespace {

using kernels::Queue;

/// The softmax does not see a shift of all coarse keys: this gradient is exactly zero, and what
/// rounding leaves of it has no scale of its own.
bool is_zero(const std::string& name) {
    return name.ends_with("k_compress_mlp.2.bias");
}

class BsaGradient : public testing::TestWithParam<std::string> {
protected:
    const std::string path = SURROGATE_TEST_DATA "/bsa/" + GetParam() + ".safetensors";
    const GoldenFile file{path};
    const SequoiaCase points{file};
};

/// The files hold gradients of weights rounded to single precision, and gradients of inputs in
/// double.
constexpr double half_unit = 0x1p-24;

TEST_P(BsaGradient, InDoubleIsThatOfTheReference) {
    const Gradients found = gradients<double>(path, points, Queue());
    for (const auto& [name, values] : found.by_name) {
        if (!file.has("check/grad/" + name)) {
            EXPECT_EQ(largest(values), 0) << name;
        } else {
            const std::vector<double> expected = file.tensor("check/grad/" + name).values;
            EXPECT_LE(difference(values, expected, is_zero(name) ? 1 : 0), half_unit + 1e-9)
                << name;
        }
    }
    if (file.has("check/grad_input/positions")) {
        const auto expected = file.tensor("check/grad_input/positions").values;
        EXPECT_LE(difference(found.positions, expected), 1e-9);
    }
    if (file.has("check/grad_input/features")) {
        const auto expected = file.tensor("check/grad_input/features").values;
        EXPECT_LE(difference(found.features, expected), 1e-9);
        EXPECT_EQ(largest(found.positions), 0) << "positions make no features";
    }
}

TEST_P(BsaGradient, InSingleIsNearDouble) {
    const Gradients truth = gradients<double>(path, points, Queue());
    for (const int n_thread : {1, 3}) {
        const Queue queue(kernels::Backend::simd, kernels::best_vector_level(), n_thread);
        const Gradients found = gradients<float>(path, points, queue);
        EXPECT_LE(std::abs(found.loss - truth.loss), 1e-5 * truth.loss);
        for (const auto& [name, values] : found.by_name) {
            if (largest(truth.by_name.at(name)) == 0) continue;
            EXPECT_LE(difference(values, truth.by_name.at(name), is_zero(name) ? 1 : 0), 1e-4)
                << name;
        }
        if (largest(truth.positions) > 0) {
            EXPECT_LE(difference(found.positions, truth.positions), 1e-4);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Files, BsaGradient,
                         testing::Values("bsa_small_grad", "bsa_group_compression_grad",
                                         "bsa_mean_static_sigma_grad", "bsa_features_rotated_ball"),
                         [](const auto& name) { return name.param; });

}  // namespace
}  // namespace surrogate::test
