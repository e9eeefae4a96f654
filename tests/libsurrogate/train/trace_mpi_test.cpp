// SPDX-License-Identifier: Apache-2.0
// Training follows the golden trace of the official code.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/libsurrogate/train/golden_ranks.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

/// Largest difference of the weights from golden ones, beside the largest of each tensor, and of
/// all.
struct Difference {
    double by_tensor = 0, of_all = 0;
};

Difference difference(const GoldenRun& run, const std::string& prefix) {
    const auto& master = *run.model.get()->model->weights();
    const std::vector<double> weights = run.weights();
    Difference worst;
    double largest = 0;
    for (const impl::MasterWeights::Entry& entry : master.entries()) {
        const GoldenTensor golden = golden_training().tensor("check/" + prefix + "/" + entry.name);
        double scale = 0, error = 0;
        for (size_t i = 0; i < golden.values.size(); ++i) {
            scale = std::max(scale, std::abs(golden.values[i]));
            const double found = weights[static_cast<size_t>(entry.first) + i];
            error = std::max(error, std::abs(found - golden.values[i]));
        }
        worst.by_tensor = std::max(worst.by_tensor, error / scale);
        worst.of_all = std::max(worst.of_all, error);
        largest = std::max(largest, scale);
    }
    worst.of_all /= largest;
    return worst;
}

std::vector<double> trace(const std::string& name) {
    return golden_training().tensor("check/" + name).values;
}

TEST(GoldenTrace, IsFollowedInDoublePrecision) {
    for (const char* partition : {"contiguous", "scattered"}) {
        GoldenRun run = on_ranks({{"precision", "fp64"}}, golden_settings(), partition);
        for (int64_t j = 0; j < 20; ++j) {
            const auto at = static_cast<size_t>(j);
            const surrogate_step_report report = run.golden_step(j);
            EXPECT_EQ(report.step, j + 1);
            EXPECT_EQ(report.samples, 2);
            EXPECT_EQ(report.was_skipped, 0);
            EXPECT_NEAR(report.loss, trace("trace64/loss")[at], 1e-10) << j;
            EXPECT_NEAR(report.gradient_norm, trace("trace64/grad_norm")[at], 1e-9) << j;
            EXPECT_NEAR(report.learning_rate, trace("trace64/lr")[at], 1e-17) << j;
            EXPECT_NEAR(report.beta1, trace("trace64/beta1")[at], 1e-15) << j;
            if (j == 4) {
                EXPECT_LE(difference(run, "final64").by_tensor, 1e-10);
            }
        }
        // Stored in single precision.
        EXPECT_LE(difference(run, "end64").by_tensor, 1e-7);
    }
}

TEST(GoldenTrace, IsFollowedInSinglePrecision) {
    for (const char* reproducible : {"false", "true"}) {
        GoldenRun run = on_ranks({{"reproducible", reproducible}});
        for (int64_t j = 0; j < 5; ++j) {
            EXPECT_NEAR(run.golden_step(j).loss, trace("trace64/loss")[static_cast<size_t>(j)],
                        1e-5);
        }
        // The optimizer divides small gradients by their size: biases of 1e-4 differ by 4e-4 of
        // that in the official code too.
        EXPECT_LE(difference(run, "final64").of_all, 1e-5) << reproducible;
    }
}

TEST(GoldenTrace, AverageIsTheGoldenOne) {
    GoldenRun run = on_ranks({{"precision", "fp64"}});
    for (int64_t j = 0; j < 5; ++j) run.golden_step(j);
    const std::string path = testing::TempDir() + "/average_" + std::to_string(getpid());
    run.trainer.save_model(path, WeightSet::ema);
    if (rank_of(world) != 0) return;
    const GoldenFile saved(path);
    for (const std::string& name : saved.names()) {
        const std::vector<double> found = saved.tensor(name).values;
        const std::vector<double> golden = golden_training().tensor("check/ema64/" + name).values;
        double scale = 0;
        for (const double value : golden) scale = std::max(scale, std::abs(value));
        for (size_t i = 0; i < found.size(); ++i)
            EXPECT_NEAR(found[i], golden[i], 1e-7 * scale) << name;  // a model file holds floats
    }
}

}  // namespace
}  // namespace surrogate::test
