// SPDX-License-Identifier: Apache-2.0
// A reproducible training is bitwise identical on any ranks, in groups, and after a restart.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/libsurrogate/train/golden_ranks.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

const std::map<std::string, std::string> exact = {{"reproducible", "true"}};

std::map<std::string, std::string> exact_with(const char* threads) {
    return {{"reproducible", "true"}, {"threads", threads}};
}

/// Losses and gradient norms of steps first .. end - 1 of the trace.
std::vector<double> steps(GoldenRun& run, int64_t first, int64_t end) {
    std::vector<double> numbers;
    for (int64_t j = first; j < end; ++j) {
        const surrogate_step_report report = run.golden_step(j);
        numbers.insert(numbers.end(), {report.loss, report.gradient_norm});
    }
    return numbers;
}

TEST(TrainingBits, AreTheSameOnAnyRanksPartitionAndThreads) {
    GoldenRun alone(exact);
    const std::vector<double> expected = steps(alone, 0, 4);
    for (const char* partition : {"contiguous", "scattered", "uneven"}) {
        for (const char* threads : {"1", "3"}) {
            GoldenRun run = on_ranks(exact_with(threads), golden_settings(), partition);
            EXPECT_EQ(steps(run, 0, 4), expected) << partition << " " << threads;
            EXPECT_EQ(run.weights(), alone.weights()) << partition << " " << threads;
        }
    }
}

TEST(TrainingBits, OfGroupsAreThoseOfAccumulatedSamples) {
    if (size_of(world) < 2) GTEST_SKIP() << "two groups need two ranks";
    const int64_t own = rank_of(world) % 2;
    MPI_Comm group;
    MPI_Comm_split(world, static_cast<int>(own), rank_of(world), &group);
    {
        GoldenRun alone(exact);
        Settings settings = golden_settings();
        settings["accumulate"] = "1";
        GoldenRun run = in_groups(group, exact, settings);
        for (int64_t j = 0; j < 4; ++j) {
            const surrogate_step_report expected = alone.golden_step(j);
            run.load(GoldenRun::golden_sample(j, own));
            const surrogate_step_report report = run.trainer.step();
            EXPECT_EQ(report.samples, 2);
            EXPECT_EQ(report.loss, expected.loss);
            EXPECT_EQ(report.gradient_norm, expected.gradient_norm);
        }
        EXPECT_EQ(run.weights(), alone.weights());
    }
    MPI_Comm_free(&group);
}

Settings with_buckets(const char* bytes) {
    Settings settings = golden_settings();
    settings["bucket"] = bytes;
    return settings;
}

TEST(TrainingBits, DoNotDependOnHowGradientsTravel) {
    GoldenRun whole = on_ranks(exact), parts = on_ranks(exact, with_buckets("64"));
    EXPECT_EQ(steps(parts, 0, 4), steps(whole, 0, 4));
    EXPECT_EQ(parts.weights(), whole.weights());
    EXPECT_GT(parts.trainer.counter("collectives"), whole.trainer.counter("collectives"));
    const std::string path = shared_path("buckets");
    parts.trainer.save(path);
    whole.trainer.restore(path);
    // Samples that are added one by one, in a step that does not know its last one.
    for (int64_t which = 0; which < 2; ++which) {
        whole.load(GoldenRun::golden_sample(4, which));
        whole.trainer.accumulate();
    }
    whole.trainer.apply();
    steps(parts, 4, 5);
    EXPECT_EQ(parts.weights(), whole.weights());
}

/// A group whose loss overflows skips the backward pass; the other one runs it, and the step is
/// left out.
TEST(TrainingBits, OfABadGroupAreLeftOutByAll) {
    if (size_of(world) < 2) GTEST_SKIP() << "two groups need two ranks";
    const int64_t own = rank_of(world) % 2;
    MPI_Comm group;
    MPI_Comm_split(world, static_cast<int>(own), rank_of(world), &group);
    for (const char* reproducible : {"false", "true"}) {
        Settings settings = with_buckets("64");
        settings["accumulate"] = "1";
        settings["max_nonfinite_steps"] = "2";
        GoldenRun run = in_groups(group, {{"reproducible", reproducible}}, settings);
        const std::vector<double> before = run.weights();
        for (int64_t bad = 0; bad < 2; ++bad) {
            run.load(own);
            if (own == bad)
                for (double& target : run.target) target = 1e200;
            EXPECT_EQ(run.trainer.step().was_skipped, 1);
            EXPECT_EQ(run.weights(), before);
        }
        run.load(own);
        EXPECT_EQ(run.trainer.step().was_skipped, 0);
        EXPECT_NE(run.weights(), before);
    }
    MPI_Comm_free(&group);
}

/// Averaged, best and current weights as files hold them.
std::vector<double> all_weights(GoldenRun& run) {
    std::vector<double> all = run.weights();
    const std::string path = shared_path("restarted");
    for (const WeightSet which : {WeightSet::ema, WeightSet::best}) {
        run.trainer.save_model(path, which);
        MPI_Barrier(world);
        const GoldenFile file(path);
        for (const std::string& name : file.names()) {
            const std::vector<double> values = file.tensor(name).values;
            all.insert(all.end(), values.begin(), values.end());
        }
        MPI_Barrier(world);
    }
    return all;
}

void validate(GoldenRun& run) {
    run.load(3);
    run.trainer.validate(1);
    run.trainer.end_validation();
}

TEST(TrainingBits, GoOnAfterARestartAlsoOnOtherRanks) {
    const std::string path = shared_path("restart");
    GoldenRun whole = on_ranks(exact);
    steps(whole, 0, 3);
    validate(whole);
    whole.trainer.save(path, "epoch 1, sample 7");
    const std::vector<double> rest = steps(whole, 3, 6);
    const std::vector<double> expected = all_weights(whole);
    {
        GoldenRun again = on_ranks(exact_with("2"), golden_settings(), "scattered");
        EXPECT_EQ(again.trainer.restore(path), "epoch 1, sample 7");
        EXPECT_EQ(steps(again, 3, 6), rest);
        EXPECT_EQ(all_weights(again), expected);
    }
    MPI_Barrier(world);
    GoldenRun alone(exact);
    alone.trainer.restore(path);
    EXPECT_EQ(steps(alone, 3, 6), rest);
    EXPECT_EQ(alone.weights(), whole.weights());
}

TEST(TrainingBits, OfTheFastModeGoOnAfterARestartOnTheSameRanks) {
    const std::string path = shared_path("fast_restart");
    GoldenRun whole = on_ranks({});
    steps(whole, 0, 2);
    whole.trainer.save(path);
    steps(whole, 2, 4);
    GoldenRun again = on_ranks({});
    again.trainer.restore(path);
    steps(again, 2, 4);
    EXPECT_EQ(again.weights(), whole.weights());
}

Settings with_reservoir() {
    Settings settings = golden_settings();
    settings["reservoir"] = "2";
    settings["seed"] = "5";
    return settings;
}

void keep(GoldenRun& run, int64_t n) {
    for (int64_t sample = 0; sample < n; ++sample) {
        run.load(sample % 4);
        EXPECT_EQ(run.trainer.reservoir_add(), std::min<int64_t>(sample + 1, 2));
    }
    // The stored sample is not the bound one.
    for (double& value : run.a) value = NAN;
}

TEST(TrainingBits, OfKeptSamplesAreTheSameOnAnyRanksAndAfterARestart) {
    const std::string path = shared_path("kept_restart");
    GoldenRun alone(exact, with_reservoir());
    GoldenRun run = on_ranks(exact, with_reservoir(), "scattered");
    for (GoldenRun* one : {&alone, &run}) keep(*one, 7);
    const surrogate_step_report expected = alone.trainer.reservoir_step(3);
    const surrogate_step_report found = run.trainer.reservoir_step(3);
    EXPECT_EQ(found.step, 3);
    EXPECT_EQ(found.samples, 2);
    EXPECT_EQ(found.loss, expected.loss);
    EXPECT_EQ(run.weights(), alone.weights());
    run.trainer.save(path);
    alone.trainer.reservoir_step(2);
    run.trainer.reservoir_step(2);

    GoldenRun other = on_ranks(exact, with_reservoir(), "uneven");
    other.trainer.restore(path);
    EXPECT_EQ(other.trainer.counter("samples_stored"), 2);
    other.trainer.reservoir_step(2);
    EXPECT_EQ(other.weights(), run.weights());
    MPI_Barrier(world);
    GoldenRun restarted(exact, with_reservoir());
    restarted.trainer.restore(path);
    restarted.trainer.reservoir_step(2);
    EXPECT_EQ(restarted.weights(), alone.weights());
}

}  // namespace
}  // namespace surrogate::test
