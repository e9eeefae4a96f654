// SPDX-License-Identifier: Apache-2.0
// Noise on inputs: its size, what it is for, and that its bits do not depend on ranks or restarts.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "libsurrogate/src/train/noise.hpp"
#include "tests/libsurrogate/train/golden_ranks.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

const std::map<std::string, std::string> reproducible = {{"reproducible", "true"}};

Settings noisy(const char* noise = "0.1") {
    Settings settings = golden_settings();
    settings["noise"] = noise;
    settings["seed"] = "3";
    return settings;
}

std::vector<double> losses(GoldenRun& run, int64_t first, int64_t end) {
    std::vector<double> numbers;
    for (int64_t j = first; j < end; ++j) numbers.push_back(run.golden_step(j).loss);
    return numbers;
}

TEST(TrainingNoise, HasTheStatedSizeAndIsItsOwnForEveryPointFieldAndSample) {
    GoldenRun run;
    run.load(0);
    impl::Plan& plan = *run.plan.get()->plan;
    std::vector<impl::Column> inputs(plan.inputs().begin(), plan.inputs().end());
    inputs[1].std = 20;
    impl::Noise noise(0.5, 7);
    noise.follow(plan);
    std::vector<double> all;
    for (int64_t sample = 0; sample < 200; ++sample) {
        const auto columns = noise.on(plan, inputs, sample);
        for (size_t c = 0; c < 2; ++c)
            for (int64_t i = 0; i < run.n(); ++i) {
                const double clean =
                    c == 0 ? run.a[static_cast<size_t>(i)] : run.b[static_cast<size_t>(i)];
                all.push_back((impl::load(columns[c], i) - clean) / inputs[c].std);
            }
    }
    const auto n = static_cast<double>(all.size());  // 19200 numbers
    double sum = 0, square = 0, next = 0, far = 0;
    for (size_t i = 0; i < all.size(); ++i) {
        sum += all[i];
        square += all[i] * all[i];
        next += all[i] * all[(i + 1) % all.size()];  // another point
        far += all[i] * all[(i + 48) % all.size()];  // another field or sample
    }
    EXPECT_NEAR(sum / n, 0, 5 * 0.5 / std::sqrt(n));
    EXPECT_NEAR(square / n, 0.25, 5 * 0.25 * std::sqrt(2 / n));
    EXPECT_NEAR(next / n, 0, 5 * 0.25 / std::sqrt(n));
    EXPECT_NEAR(far / n, 0, 5 * 0.25 / std::sqrt(n));
}

TEST(TrainingNoise, ChangesWhatIsLearntButNoValidation) {
    GoldenRun plain(reproducible), run(reproducible, noisy());
    for (GoldenRun* one : {&plain, &run}) one->load(1);
    EXPECT_EQ(run.trainer.validate(1).loss, plain.trainer.validate(1).loss);
    EXPECT_NE(losses(run, 0, 1), losses(plain, 0, 1));
    GoldenRun silent(reproducible, noisy("0"));
    GoldenRun again(reproducible);
    EXPECT_EQ(losses(silent, 0, 2), losses(again, 0, 2));
}

TEST(TrainingNoise, HasTheSameBitsOnAnyRanksPartitionThreadsAndAfterARestart) {
    const std::string path = shared_path("noise");
    GoldenRun alone(reproducible, noisy());
    const std::vector<double> expected = losses(alone, 0, 4);
    for (const char* partition : {"contiguous", "scattered", "uneven"}) {
        GoldenRun run = on_ranks({{"reproducible", "true"}, {"threads", "2"}}, noisy(), partition);
        EXPECT_EQ(losses(run, 0, 4), expected) << partition;
        EXPECT_EQ(run.weights(), alone.weights()) << partition;
    }
    GoldenRun part = on_ranks(reproducible, noisy());
    losses(part, 0, 2);
    part.trainer.save(path);
    MPI_Barrier(world);
    GoldenRun rest = on_ranks(reproducible, noisy(), "scattered");
    rest.trainer.restore(path);
    EXPECT_EQ(losses(rest, 2, 4), std::vector<double>(expected.begin() + 2, expected.end()));
    EXPECT_EQ(rest.weights(), alone.weights());
}

TEST(TrainingNoise, OfGroupsIsThatOfAccumulatedSamples) {
    if (size_of(world) < 2) GTEST_SKIP() << "two groups need two ranks";
    const int64_t own = rank_of(world) % 2;
    MPI_Comm group;
    MPI_Comm_split(world, static_cast<int>(own), rank_of(world), &group);
    {
        GoldenRun alone(reproducible, noisy());
        Settings settings = noisy();
        settings["accumulate"] = "1";
        GoldenRun run = in_groups(group, reproducible, settings);
        for (int64_t j = 0; j < 3; ++j) {
            const surrogate_step_report expected = alone.golden_step(j);
            run.load(GoldenRun::golden_sample(j, own));
            EXPECT_EQ(run.trainer.step().loss, expected.loss);
        }
        EXPECT_EQ(run.weights(), alone.weights());
    }
    MPI_Comm_free(&group);
}

TEST(TrainingNoise, LeavesWhatIsNotFiniteToBeFound) {
    GoldenRun run = on_ranks(reproducible, noisy());
    run.load(0);
    if (rank_of(world) == 0) run.a[0] = NAN;
    try {
        run.trainer.accumulate();
        FAIL() << "trained on NaN";
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), SURROGATE_NOT_FINITE);
    }
    EXPECT_TRUE(ranks_still_talk(world));
}

}  // namespace
}  // namespace surrogate::test
