// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/family_training.hpp"
#include "tests/support/ranks.hpp"

namespace surrogate::test {

/// A context for each rank, and samples of all of them in each step. The result is bitwise
/// identical to one rank that takes these samples in turn.
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

/// Returns the rows of a table of n rows.
inline std::vector<double> table_rows(const std::vector<double>& all,
                                      const std::vector<int64_t>& rows, int64_t n) {
    const int64_t width = std::ssize(all) / n;
    std::vector<double> some;
    for (const int64_t row : rows)
        some.insert(some.end(), all.begin() + row * width, all.begin() + (row + 1) * width);
    return some;
}

/// Each of up to two groups of ranks takes a sample, and its ranks divide the points (domain and
/// data parallel). The result is bitwise identical to one rank that takes these samples in turn.
///   all                   n points with n_axis coordinates; all.rows(rows) returns some of them
///   points_of(some)       their surrogate_points
template <class Points>
void expect_groups_of_ranks(const GoldenFile& file, const Points& all,
                            surrogate_points (*points_of)(const Points&),
                            const std::vector<double>& features, const std::vector<double>& targets,
                            MPI_Comm comm) {
    const int64_t n = all.n;
    std::deque<Points> parts;
    const int n_group = size_of(comm) > 1 ? 2 : 1, group = rank_of(comm) % n_group;
    MPI_Comm ranks = MPI_COMM_NULL;
    MPI_Comm_split(comm, group, rank_of(comm), &ranks);
    {
        const Options options{{"gradients", "true"}, {"reproducible", "true"}};
        const auto make = [&](const std::vector<int64_t>& rows, int accumulate,
                              const std::optional<Context>& across, Context on) {
            const TrainerOptions settings{{"learning_rate", "1e-3"},
                                          {"loss", "mse"},
                                          {"accumulate", std::to_string(accumulate)}};
            return std::make_unique<FamilyTraining>(
                file, all.n_axis, points_of(parts.emplace_back(all.rows(rows))),
                std::ssize(features) / n, table_rows(features, rows, n), std::ssize(targets) / n,
                table_rows(targets, rows, n), options, settings, across, std::move(on));
        };
        std::vector<int64_t> all_rows(static_cast<size_t>(n));
        std::iota(all_rows.begin(), all_rows.end(), int64_t{0});
        const auto shared =
            make(own_rows("scattered", n, ranks), 1, mpi_context(comm), mpi_context(ranks));
        const auto alone = make(all_rows, n_group, {}, Context());
        const std::vector<double> of_rank = shared->targets, of_all = alone->targets;
        const auto load = [](FamilyTraining& to, const std::vector<double>& from, int sample) {
            for (size_t i = 0; i < from.size(); ++i) to.targets[i] = from[i] * (1 + 0.1 * sample);
        };
        load(*shared, of_rank, group);
        for (int step = 0; step < 2; ++step) {
            EXPECT_EQ(shared->trainer.step().samples, n_group);
            for (int sample = 0; sample < n_group; ++sample) {
                load(*alone, of_all, sample);
                alone->trainer.step();
            }
        }
        const std::span<const double> found = shared->weights().precise(),
                                      expected = alone->weights().precise();
        for (size_t i = 0; i < expected.size(); ++i) ASSERT_EQ(found[i], expected[i]) << i;
    }
    MPI_Comm_free(&ranks);
}

}  // namespace surrogate::test
