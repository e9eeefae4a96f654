// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tests/support/family_training.hpp"
#include "tests/support/ranks.hpp"

namespace surrogate::test {

/// Expects that a plan with gradients fails on all ranks of `comm` alike, unless there is one rank.
inline void expect_gradients_on_one_rank(const GoldenFile& file, int64_t n_axis, int64_t n_in,
                                         int64_t n_out, const surrogate_points& own,
                                         MPI_Comm comm) {
    const ModelOnDisk disk(model_with_fields(file, n_axis, n_in, n_out));
    const Context context = mpi_context(comm);
    const Model model(context, disk.path());
    const Domain domain(context, own);
    const Options options{{"gradients", "true"}};
    surrogate_plan* plan = nullptr;
    const Answer found = answer(
        surrogate_plan_create(model.get(), domain.get(), domain.get(), options.get(), &plan));
    surrogate_plan_destroy(&plan);
    EXPECT_TRUE(ranks_still_talk(comm));
    if (size_of(comm) == 1) {
        EXPECT_EQ(found.status, SURROGATE_SUCCESS) << found.text;
        return;
    }
    EXPECT_EQ(found.status, SURROGATE_NOT_SUPPORTED);
    EXPECT_TRUE(
        found.says("are computed on one rank, the context has " + std::to_string(size_of(comm))))
        << found.text;
}

/// Applies the remedy of the error: a context for each rank, and samples of all of them in each
/// step. The result is bitwise identical to one rank that takes these samples in turn.
inline void expect_groups_of_one_rank(const GoldenFile& file, int64_t n_axis,
                                      const surrogate_points& points,
                                      const std::vector<double>& features,
                                      const std::vector<double>& targets, MPI_Comm comm) {
    const Options options{{"gradients", "true"}, {"reproducible", "true"}};
    const auto settings = [](int accumulate) {
        return TrainerOptions{
            {"learning_rate", "1e-3"}, {"loss", "mse"}, {"accumulate", std::to_string(accumulate)}};
    };
    const auto load = [&](FamilyTraining& own, int sample) {
        for (size_t i = 0; i < targets.size(); ++i)
            own.targets[i] = targets[i] * (1 + 0.1 * sample);
    };
    FamilyTraining group(file, n_axis, points, features, targets, options, settings(1),
                         mpi_context(comm));
    FamilyTraining alone(file, n_axis, points, features, targets, options, settings(size_of(comm)));
    load(group, rank_of(comm));
    for (int step = 0; step < 2; ++step) {
        EXPECT_EQ(group.trainer.step().samples, size_of(comm));
        for (int sample = 0; sample < size_of(comm); ++sample) {
            load(alone, sample);
            alone.trainer.step();
        }
    }
    const std::span<const double> found = group.weights().precise(),
                                  expected = alone.weights().precise();
    for (size_t i = 0; i < expected.size(); ++i) ASSERT_EQ(found[i], expected[i]) << i;
}

}  // namespace surrogate::test
