// SPDX-License-Identifier: Apache-2.0
// Cost of steps: no allocation after the first, and traffic equal to the formulas.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/libsurrogate/train/golden_ranks.hpp"
#include "tests/support/memory_meter.hpp"
#include "tests/support/trap_guard.hpp"

namespace surrogate::test {
namespace {

TEST(TrainingManners, StepsTakeNoMemoryAndTrapNothing) {
    for (const char* reproducible : {"false", "true"}) {
        GoldenRun run = on_ranks({{"reproducible", reproducible}});
        run.golden_step(0);
        run.golden_step(1);
        GoldenRun::golden_sample(0, 0);
        const TrapGuard traps;
        const MemoryMeter meter;
        run.golden_step(2);
        run.golden_step(3);
        EXPECT_EQ(meter.n_allocation(), 0) << reproducible;
    }
}

TEST(TrainingManners, MemoryIsThatOfTheLaw) {
    // 8 bytes a parameter for each: weights in double, two moments, average, best; gradients of a
    // thread and their sum. Beyond that what points and losses take, which is little here.
    Settings settings = golden_settings();
    GoldenRun run = on_ranks({{"precision", "fp64"}}, settings);
    run.load(0);
    run.trainer.validate(1);
    run.trainer.end_validation();
    const auto n = static_cast<int64_t>(run.weights().size());
    EXPECT_GE(run.trainer.counter("bytes"), 7 * 8 * n);
    EXPECT_LE(run.trainer.counter("bytes"), 7 * 8 * n + 20000);
    EXPECT_NE(run.trainer.describe().find("parameters"), std::string::npos);
}

TEST(TrainingManners, HashOfTheModelFollowsItsWeights) {
    GoldenRun run = on_ranks({});
    const uint64_t before = run.model.hash();
    EXPECT_EQ(run.model.hash(), before);
    run.golden_step(0);
    const uint64_t after = run.model.hash();
    EXPECT_NE(after, before);
    for (const uint64_t of_rank : gathered(std::vector<uint64_t>{after}, MPI_COMM_WORLD))
        EXPECT_EQ(of_rank, after);
    const Plan another(run.model, run.domain);  // all ranks still have the same model
}

TEST(TrainingManners, CallsAreRefusedWhileThePlanRuns) {
    GoldenRun run = on_ranks({{"range", "warn"}});
    run.load(0);
    run.a.front() = 50;
    run.plan.bind_output("u", column(run.u.data(), run.n()));
    struct Second {
        surrogate_trainer* trainer;
        surrogate_plan* plan;
        std::vector<Answer> found;
    } second{run.trainer.get(), run.plan.get(), {}};
    run.context.set_log(
        [](void* user, const char*) {
            auto* const own = static_cast<Second*>(user);
            surrogate_trainer* another = nullptr;
            for (const surrogate_status status :
                 {surrogate_trainer_step(own->trainer, nullptr),
                  surrogate_trainer_accumulate(own->trainer, nullptr),
                  surrogate_trainer_validate(own->trainer, nullptr, nullptr),
                  surrogate_trainer_create(own->plan, nullptr, nullptr, &another)})
                own->found.push_back(answer(status));
        },
        &second);
    run.plan.run();
    run.context.set_log(nullptr, nullptr);
    EXPECT_EQ(second.found.size(), 4u);
    for (const Answer& found : second.found) {
        EXPECT_EQ(found.status, SURROGATE_INVALID_ARGUMENT);
        EXPECT_TRUE(found.says("the plan is in use by another call")) << found;
    }
    run.golden_step(0);
}

TEST(TrainingManners, TrafficIsCounted) {
    GoldenRun run = on_ranks({});
    run.golden_step(0);
    const auto n = static_cast<int64_t>(run.weights().size());
    const int64_t bytes = run.trainer.counter("bytes_sent");
    if (run.context.size() > 1) {
        EXPECT_GE(bytes, 4 * n);  // gradients as floats
    }
    EXPECT_LE(bytes, 4 * n + 60000);
    EXPECT_GT(run.trainer.counter("collectives"), 0);
    EXPECT_EQ(run.trainer.counter("steps"), 1);
    run.golden_step(1);
    EXPECT_EQ(run.trainer.counter("bytes_sent"), bytes);
    const Answer found = [&] {
        int64_t value = 0;
        return answer(surrogate_trainer_counter(run.trainer.get(), "byte_sent", &value));
    }();
    EXPECT_EQ(found.status, SURROGATE_UNKNOWN_NAME);
    EXPECT_TRUE(found.says("did you mean 'bytes_sent'")) << found;
}

/// Payload and calls of gradients: 4 n bytes in a call a bucket; exact sums 16 n, and 8 more for
/// each tensor and bucket, in two calls a bucket. A bucket of one byte is a stage: FLARE's blocks,
/// and what is before the first.
TEST(TrainingManners, TrafficOfGradientsIsThatOfTheFormula) {
    for (const bool is_exact : {false, true}) {
        Settings parts = golden_settings();
        parts["bucket"] = "1";
        const char* const reproducible = is_exact ? "true" : "false";
        GoldenRun one = on_ranks({{"reproducible", reproducible}});
        GoldenRun many = on_ranks({{"reproducible", reproducible}}, parts);
        for (GoldenRun* run : {&one, &many}) run->golden_step(0);
        const auto difference = [&](const char* key) {
            return many.trainer.counter(key) - one.trainer.counter(key);
        };
        const bool meets = one.context.size() > 1 || is_exact;
        const int64_t n_block = golden_training().card()["network"]["num_blocks"];
        EXPECT_EQ(difference("collectives"), meets ? (is_exact ? 2 : 1) * n_block : 0);
        EXPECT_EQ(difference("bytes_sent"), is_exact ? 8 * n_block : 0);
        const impl::MasterWeights& weights = *one.model.get()->model->weights();
        const int64_t n = weights.n_parameter(), n_tensor = std::ssize(weights.entries());
        const int64_t n_byte = is_exact ? 16 * n + 8 * n_tensor + 8 : 4 * n;
        EXPECT_NE(one.trainer.describe().find(std::to_string(n_byte) + " bytes\n  in calls"),
                  std::string::npos)
            << one.trainer.describe();
    }
}

}  // namespace
}  // namespace surrogate::test
