// SPDX-License-Identifier: Apache-2.0
// Ranges of the card grow, if the trainer is asked to widen them, to the training samples: on any
// ranks, in groups, after a restart, and to nothing else. Ranges of the golden model: a, b from -10
// to 10, u up to 10.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "libsurrogate/src/train/checkpoint_file.hpp"
#include "tests/libsurrogate/train/golden_ranks.hpp"
#include "tests/support/memory_meter.hpp"
#include "tests/support/world.hpp"

namespace surrogate::test {
namespace {

const std::map<std::string, std::string> exact = {{"reproducible", "true"}};

using Ends = std::vector<double>;
const Ends ends_of_the_card = {-10, 10, -10, 10, -INFINITY, 10};

/// min and max of a, b and u.
Ends ends(const Model& model) {
    Ends found;
    for (const auto& fields : {model.inputs(), model.outputs()})
        for (const surrogate_field_info& field : fields)
            found.insert(found.end(), {field.min, field.max});
    return found;
}

Settings one_sample() {
    Settings settings = golden_settings();
    settings["accumulate"] = "1";
    settings["max_nonfinite_steps"] = "9";
    settings["reservoir"] = "1";
    return settings;
}

/// The value of a row of the sample, on the rank that has it.
void set(const GoldenRun& run, std::vector<double>& values, int64_t row, double value) {
    for (size_t i = 0; i < run.rows.size(); ++i)
        if (run.rows[i] == row) values[i] = value;
}

/// A sample whose ends lie on different ranks.
void load_wide(GoldenRun& run, double a, double b, double u) {
    run.load(0);
    set(run, run.a, 47, a);
    set(run, run.b, 0, b);
    set(run, run.target, 20, u);
}

TEST(TrainingRanges, GrowToWhatWasLearntAndOnlyWhenTold) {
    for (const char* partition : {"contiguous", "scattered", "uneven"}) {
        GoldenRun run = on_ranks({}, one_sample(), partition);
        EXPECT_EQ(run.trainer.widen_ranges(), 0);
        load_wide(run, 25, -30, 40);
        run.trainer.step();
        load_wide(run, -12, 3, -500);
        run.trainer.step();
        EXPECT_EQ(ends(run.model), ends_of_the_card) << partition;
        EXPECT_EQ(run.trainer.widen_ranges(), 3) << partition;
        EXPECT_EQ(ends(run.model), (Ends{-12, 25, -30, 10, -INFINITY, 40})) << partition;
        EXPECT_EQ(run.trainer.widen_ranges(), 0) << partition;
        load_wide(run, 25, 0, 41);
        run.trainer.step();
        EXPECT_EQ(run.trainer.widen_ranges(), 1) << partition;
        EXPECT_EQ(ends(run.model), (Ends{-12, 25, -30, 10, -INFINITY, 41})) << partition;
    }
}

TEST(TrainingRanges, OfGroupsAreJoined) {
    if (size_of(world) < 2) GTEST_SKIP() << "two groups need two ranks";
    const int64_t own = rank_of(world) % 2;
    MPI_Comm group;
    MPI_Comm_split(world, static_cast<int>(own), rank_of(world), &group);
    {
        GoldenRun run = in_groups(group, {}, one_sample());
        if (own == 0)
            load_wide(run, 25, 0, 3);
        else
            load_wide(run, -11, 17, 4);
        run.trainer.step();
        EXPECT_EQ(run.trainer.widen_ranges(), 2);
        EXPECT_EQ(ends(run.model), (Ends{-11, 25, -10, 17, -INFINITY, 10}));
    }
    MPI_Comm_free(&group);
}

class UncountedRanges : public testing::Test {
protected:
    void expect_none() {
        EXPECT_EQ(run.trainer.widen_ranges(), 0);
        run.load(1);
        EXPECT_EQ(run.trainer.step().was_skipped, 0);
        EXPECT_EQ(run.trainer.widen_ranges(), 0);
        EXPECT_EQ(ends(run.model), ends_of_the_card);
    }
    GoldenRun run = on_ranks({}, one_sample());
};

TEST_F(UncountedRanges, AreThoseOfAStepThatWasLeftOut) {
    load_wide(run, 25, -30, 1e200);
    EXPECT_EQ(run.trainer.step().was_skipped, 1);
    expect_none();
}

TEST_F(UncountedRanges, AreThoseOfASampleThatFailed) {
    const auto step = [&] { return answer(surrogate_trainer_step(run.trainer.get(), nullptr)); };
    load_wide(run, 25, -30, NAN);
    EXPECT_EQ(step().status, SURROGATE_NOT_FINITE);
    load_wide(run, 25, INFINITY, 40);
    EXPECT_EQ(step().status, SURROGATE_NOT_FINITE);
    expect_none();
}

/// A good sample of a step whose other sample fails counts; that one does not.
TEST_F(UncountedRanges, AreThoseOfAFailedSampleInAStepThatGoesOn) {
    load_wide(run, 25, 0, 40);
    run.trainer.accumulate();
    EXPECT_EQ(run.trainer.widen_ranges(), 0) << "the step is not complete";
    load_wide(run, 99, 0, NAN);
    EXPECT_EQ(surrogate_trainer_accumulate(run.trainer.get(), nullptr), SURROGATE_NOT_FINITE);
    run.trainer.apply();
    EXPECT_EQ(run.trainer.widen_ranges(), 2);
    EXPECT_EQ(ends(run.model), (Ends{-10, 25, -10, 10, -INFINITY, 40}));
}

TEST_F(UncountedRanges, AreThoseOfValidationsAndOfSamplesKeptOnly) {
    load_wide(run, 25, -30, 40);
    run.trainer.reservoir_add();
    run.trainer.validate(1);
    expect_none();
    run.trainer.reservoir_step(1);
    EXPECT_EQ(run.trainer.widen_ranges(), 3);
    EXPECT_EQ(ends(run.model), (Ends{-10, 25, -30, 10, -INFINITY, 40}));
}

TEST_F(UncountedRanges, AreTargetsWithoutWeight) {
    load_wide(run, 3, 3, 40);
    std::vector<double> weights(run.rows.size(), 1);
    set(run, weights, 20, 0);
    run.trainer.set_point_weights(column(weights.data(), run.n()));
    run.trainer.step();
    expect_none();
}

TEST(TrainingRanges, AreThoseOfTheSamplesWithoutNoise) {
    Settings settings = one_sample();
    settings["noise"] = "100";
    GoldenRun run = on_ranks({}, settings);
    load_wide(run, 25, 0, 1);
    run.trainer.step();
    EXPECT_EQ(run.trainer.widen_ranges(), 1);
    EXPECT_EQ(ends(run.model), (Ends{-10, 25, -10, 10, -INFINITY, 10}));
}

TEST(TrainingRanges, ReachPlansOfTheModelWithTheirNextRun) {
    GoldenRun run = on_ranks({}, one_sample());
    Plan counts(run.model, run.domain);
    Plan stops(run.model, run.domain, Options{{"range", "error"}, {"agree", "true"}});
    for (Plan* plan : {&counts, &stops}) {
        plan->bind_input("a", column(run.a.data(), run.n()));
        plan->bind_input("b", column(run.b.data(), run.n()));
        plan->bind_output("u", column(run.u.data(), run.n()));
    }
    const auto stops_with = [&] { return answer(surrogate_plan_run(stops.get())); };
    const auto n_outside = [&] {
        int64_t n = counts.counter("outside_range"), sum = 0;
        MPI_Allreduce(&n, &sum, 1, MPI_INT64_T, MPI_SUM, world);
        return sum;
    };
    load_wide(run, 25, -30, 40);
    run.trainer.step();
    counts.run();
    EXPECT_EQ(n_outside(), 2);
    EXPECT_EQ(stops_with().status, SURROGATE_OUT_OF_RANGE);
    EXPECT_EQ(run.trainer.widen_ranges(), 3);
    {
        const MemoryMeter meter;
        counts.run();
        EXPECT_EQ(meter.n_allocation(), 0);
    }
    EXPECT_EQ(n_outside(), 0);
    EXPECT_EQ(counts.range(0).max, 25);
    EXPECT_EQ(stops_with().status, SURROGATE_SUCCESS);
    set(run, run.a, 47, 26);
    const Answer found = stops_with();
    EXPECT_EQ(found.status, SURROGATE_OUT_OF_RANGE);
    EXPECT_TRUE(found.says("'a'") && found.says("-10 .. 25")) << found;
    Plan later(run.model, run.domain);
    EXPECT_EQ(later.range(0).max, 25);
}

TEST(TrainingRanges, AreOnTheCardsOfSavedModels) {
    const std::string by_trainer = shared_path("wide_trainer"),
                      by_model = shared_path("wide_model");
    GoldenRun run = on_ranks({}, one_sample());
    load_wide(run, 0.1 + 25, -30, 40);
    run.trainer.step();
    const uint64_t narrow = run.model.hash();
    run.trainer.widen_ranges();
    EXPECT_NE(run.model.hash(), narrow);
    run.trainer.save_model(by_trainer);
    run.model.save(by_model);
    MPI_Barrier(world);
    for (const std::string& path : {by_trainer, by_model}) {
        const Model again(run.context, path);
        EXPECT_EQ(ends(again), (Ends{-10, 0.1 + 25, -30, 10, -INFINITY, 40})) << path;
        EXPECT_EQ(again.hash(), run.model.hash()) << path;
    }
    const auto description = nlohmann::json::parse(run.model.describe());
    EXPECT_EQ(description["card"]["inputs"][1]["min"], -30);
    EXPECT_FALSE(description["card"]["outputs"][0].contains("min"));
}

/// Wide steps before and after the ranges were widened; then a checkpoint.
void begin(GoldenRun& run, const std::string& path) {
    load_wide(run, 25, 0, 40);
    run.trainer.step();
    run.trainer.widen_ranges();
    load_wide(run, 1.0 / 3 - 44, -30, 4);
    run.trainer.step();
    run.trainer.save(path);
}

/// And after it.
Ends go_on(GoldenRun& run) {
    load_wide(run, 0, 31, 4);
    run.trainer.step();
    EXPECT_EQ(run.trainer.widen_ranges(), 2);
    Ends found = ends(run.model);
    const std::vector<double> weights = run.weights();
    found.insert(found.end(), weights.begin(), weights.end());
    return found;
}

TEST(TrainingRanges, GoOnAfterARestartAlsoOnOtherRanks) {
    const std::string path = shared_path("ranges");
    const Ends widened_once = {-10, 25, -10, 10, -INFINITY, 40};
    GoldenRun whole = on_ranks(exact, one_sample());
    begin(whole, path);
    const Ends expected = go_on(whole);
    EXPECT_EQ(Ends(expected.begin(), expected.begin() + 6),
              (Ends{1.0 / 3 - 44, 25, -30, 31, -INFINITY, 40}));
    const uint64_t hash = whole.model.hash();
    {
        GoldenRun again = on_ranks(exact, one_sample(), "scattered");
        again.trainer.restore(path);
        EXPECT_EQ(ends(again.model), widened_once);
        EXPECT_EQ(go_on(again), expected);
        EXPECT_EQ(again.model.hash(), hash);
    }
    MPI_Barrier(world);
    {
        GoldenRun alone(exact, one_sample());
        alone.trainer.restore(path);
        EXPECT_EQ(go_on(alone), expected);
    }
    MPI_Barrier(world);
    whole.trainer.restore(path);
    EXPECT_EQ(ends(whole.model), widened_once) << "what came after the checkpoint is forgotten";
    EXPECT_EQ(go_on(whole), expected);
    EXPECT_EQ(whole.model.hash(), hash);
}

/// The checkpoint at `path` with another tensor of ranges, or none. On rank 0.
void rewrite(GoldenRun& run, const std::string& path, const std::vector<double>& ranges) {
    impl::Context& context = *run.context.get()->context;
    if (rank_of(world) == 0) {
        const impl::CheckpointFile file(context.files(), path);
        std::vector<std::vector<std::byte>> bytes;
        std::vector<impl::CheckpointTensor> tensors;
        for (const impl::TensorEntry& entry : file.entries()) {
            if (entry.name == "ranges" && ranges.empty()) continue;
            bytes.emplace_back(static_cast<size_t>(entry.end - entry.begin));
            file.read(entry, bytes.back());
            if (entry.name == "ranges") std::memcpy(bytes.back().data(), ranges.data(), 48);
            tensors.push_back(
                {entry, [data = std::span<const std::byte>(bytes.back())] { return data; }});
        }
        nlohmann::json about = file.about();
        about.erase("checksums");
        const Context alone;
        write_checkpoint(alone.get()->context->comm(), context.files(), path, about, tensors);
    }
    MPI_Barrier(world);
}

TEST(TrainingRanges, OfEarlierVersionsBeginWithTheNextStep) {
    const std::string path = shared_path("old");
    GoldenRun run = on_ranks(exact, one_sample());
    begin(run, path);
    rewrite(run, path, {});
    run.trainer.restore(path);
    EXPECT_EQ(ends(run.model), (Ends{-10, 25, -10, 10, -INFINITY, 40}));
    EXPECT_EQ(run.trainer.widen_ranges(), 0);
    load_wide(run, 0, 31, 4);
    run.trainer.step();
    EXPECT_EQ(run.trainer.widen_ranges(), 1);
    EXPECT_EQ(ends(run.model), (Ends{-10, 25, -10, 31, -INFINITY, 40}));
}

TEST(TrainingRanges, ThatCannotBeAreRefused) {
    const std::string path = shared_path("malformed");
    GoldenRun run = on_ranks(exact, one_sample());
    begin(run, path);
    const Ends before = ends(run.model);
    const std::vector<double> weights = run.weights();
    for (const Ends& bad : {Ends{NAN, 1, 0, 1, 0, 1}, Ends{0, 1, 0, 1, 1, 0},
                            Ends{0, INFINITY, 0, 1, 0, 1}, Ends{-INFINITY, INFINITY, 0, 1, 0, 1}}) {
        rewrite(run, path, bad);
        const Answer found = answer(surrogate_trainer_restore(run.trainer.get(), path.c_str()));
        EXPECT_EQ(found.status, SURROGATE_BAD_FILE) << found;
        EXPECT_TRUE(found.says("the checkpoint is corrupt: range")) << found;
        EXPECT_EQ(ends(run.model), before);
        EXPECT_EQ(run.weights(), weights);
    }
}

TEST(TrainingRanges, TheNumberOfFieldsNeedsNoPlace) {
    GoldenRun run = on_ranks({}, one_sample());
    load_wide(run, 25, 0, 4);
    run.trainer.step();
    EXPECT_EQ(surrogate_trainer_widen_ranges(run.trainer.get(), nullptr), SURROGATE_SUCCESS);
    EXPECT_EQ(ends(run.model)[1], 25);
    int32_t n = 0;
    EXPECT_EQ(surrogate_trainer_widen_ranges(nullptr, &n), SURROGATE_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace surrogate::test
