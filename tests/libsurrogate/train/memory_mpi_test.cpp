// SPDX-License-Identifier: Apache-2.0
// One rank runs out of memory, at every allocation of every collective call of training in turn:
// all ranks return the same error, nothing has changed, and the next call works.
#include <gtest/gtest.h>

#include <string>

#include "tests/libsurrogate/conformance/faults_memory.hpp"
#include "tests/libsurrogate/train/golden_ranks.hpp"
#include "tests/libsurrogate/train/tracker.hpp"

namespace surrogate::test {
namespace {

TEST_F(FaultsMemory, InATrainerIsToldToAllRanks) {
    GoldenRun run = on_ranks({{"reproducible", "true"}});
    const TrainerOptions training = training_of(golden_settings());
    fail_at_each_allocation([&] {
        surrogate_trainer* trainer = nullptr;
        const surrogate_status status =
            surrogate_trainer_create(run.plan.get(), nullptr, training.get(), &trainer);
        EXPECT_EQ(trainer == nullptr, status != SURROGATE_SUCCESS);
        surrogate_trainer_destroy(&trainer);
        return status;
    });
}

/// A sample that is right takes no memory, one that is wrong takes some for the text of its error.
/// A rank that lacks even that says so, and the others what it meant to say.
TEST_F(FaultsMemory, InStepsChangesNothing) {
    GoldenRun whole = on_ranks({{"reproducible", "true"}});
    GoldenRun run = on_ranks({{"reproducible", "true"}});
    for (int64_t j = 0; j < 2; ++j) whole.golden_step(j);
    run.golden_step(0);
    for (int culprit = 0; culprit < size_of(comm); ++culprit) {
        for (int64_t n = 1; n < 40; n += 3) {
            run.load(0);
            const bool is_culprit = rank_of(comm) == culprit;
            if (is_culprit) run.target[0] = NAN;
            if (is_culprit) fail_allocation(n);
            const Answer found = answer(surrogate_trainer_accumulate(run.trainer.get(), nullptr));
            if (is_culprit) end_failing_allocation();
            EXPECT_TRUE(ranks_still_talk(comm));
            EXPECT_NE(found.status, SURROGATE_SUCCESS);
        }
    }
    run.golden_step(1);
    EXPECT_EQ(run.weights(), whole.weights());
}

/// Each rank is a group. The first sample of a trainer allocates the memory of its pairs.
TEST_F(FaultsMemory, InPairsIsToldToAllGroups) {
    Tracker run;
    run.load(rank_of(comm));
    const TrainerOptions settings = Tracker::training({});
    const surrogate_array labels = run.label_array();
    const std::vector<double> parameters = run.parameters();
    const auto in_turn = [](int64_t n) { return n + 1 + n / 8; };
    fail_at_each_allocation(
        [&] {
            surrogate_trainer* trainer = nullptr;
            surrogate_status status =
                surrogate_trainer_create(run.plan.get(), context.get(), settings.get(), &trainer);
            if (status == SURROGATE_SUCCESS) {
                check(surrogate_trainer_bind_labels(trainer, &labels));
                status = surrogate_trainer_step(trainer, nullptr);
            }
            surrogate_trainer_destroy(&trainer);
            return status;
        },
        in_turn);
    EXPECT_NE(run.parameters(), parameters);
}

TEST_F(FaultsMemory, InValidationsAndCheckpointsIsToldToAllRanks) {
    Settings settings = golden_settings();
    settings["reservoir"] = "2";
    GoldenRun run = on_ranks({{"reproducible", "true"}}, settings);
    const std::string path = shared_path("memory");
    run.load(0);
    fail_at_each_allocation(
        [&] { return surrogate_trainer_reservoir_add(run.trainer.get(), nullptr); });
    run.golden_step(0);
    for (int64_t sample = 0; sample < 2; ++sample) {
        run.load(sample);
        run.a[0] = 20;
        run.trainer.step();
    }
    run.load(0);
    run.trainer.validate(1);
    run.trainer.end_validation();
    const std::vector<double> weights = run.weights();
    const auto in_turn = [](int64_t n) { return n + 1 + n / 4; };
    n_trim = 100;  // texts of errors are made smaller without memory
    const auto largest = [&] {
        surrogate_field_info info{};
        surrogate_model_input(run.model.get(), 0, &info);
        return info.max;
    };
    fail_at_each_allocation(
        [&] {
            const double before = largest();
            const surrogate_status status =
                surrogate_trainer_widen_ranges(run.trainer.get(), nullptr);
            EXPECT_EQ(largest(), status == SURROGATE_SUCCESS ? 20 : before);
            return status;
        },
        in_turn);
    fail_at_each_allocation(
        [&] { return surrogate_trainer_save(run.trainer.get(), "note", path.c_str()); }, in_turn);
    EXPECT_EQ(run.weights(), weights);
    fail_at_each_allocation(
        [&] { return surrogate_trainer_restore(run.trainer.get(), path.c_str()); }, in_turn);
    EXPECT_EQ(run.weights(), weights);
    fail_at_each_allocation(
        [&] {
            return surrogate_trainer_save_model(run.trainer.get(), SURROGATE_BEST, nullptr,
                                                path.c_str());
        },
        in_turn);
}

}  // namespace
}  // namespace surrogate::test
