// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "kernels/base/error.hpp"
#include "tests/kernels/losses/pair_problem.hpp"

namespace surrogate::kernels::losses::test {
namespace {

std::vector<int32_t> row(const PairRows& rows, int64_t u) {
    return {rows.point + rows.offset[u], rows.point + rows.offset[u + 1]};
}

TEST(PairRows, HoldNegativePairsThenPositiveOnesInAscendingOrder) {
    const std::vector<int32_t> label = {4, -1, 4, 4, -1};
    const std::vector<int32_t> first = {0, 0, 2, 0, 1, 0, 1}, second = {3, 4, 0, 2, 4, 1, 4};
    const PairTable table(4, label, first, second);
    const PairRows rows = table.rows();
    EXPECT_EQ(rows.n_row, 4);
    EXPECT_EQ(rows.n_pair(), 7);
    EXPECT_EQ(row(rows, 0), (std::vector<int32_t>{1, 4, 2, 3}));
    EXPECT_EQ(rows.n_positive(0), 2);
    EXPECT_EQ(row(rows, 1), (std::vector<int32_t>{4, 4}));  // listed twice; no label is no match
    EXPECT_EQ(rows.n_positive(1), 0);
    EXPECT_EQ(row(rows, 2), (std::vector<int32_t>{0}));
    EXPECT_TRUE(row(rows, 3).empty());
}

TEST(PairRows, DoNotDependOnTheOrderOfTheList) {
    auto random = generator();
    PairProblem problem = random_problem(random, 40, 1, 500, {}, false);
    const PairTable before(40, problem.label, problem.first, problem.second);
    std::vector<size_t> order(problem.first.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::shuffle(order.begin(), order.end(), random);
    std::vector<int32_t> first, second;
    for (size_t k : order) {
        first.push_back(problem.first[k]);
        second.push_back(problem.second[k]);
    }
    const PairTable after(40, problem.label, first, second);
    for (int64_t u = 0; u < 40; ++u) {
        EXPECT_EQ(row(before.rows(), u), row(after.rows(), u));
        EXPECT_EQ(before.rows().positive[u], after.rows().positive[u]);
    }
}

TEST(PairRows, KnowWhetherTheyAreSymmetric) {
    auto random = generator();
    PairProblem problem = random_problem(random, 40, 1, 500, {}, true);
    const auto answer = [&] {
        return is_symmetric(PairTable(40, problem.label, problem.first, problem.second).rows());
    };
    EXPECT_TRUE(answer());
    problem.first.push_back(3);  // its reverse is missing, or missing once more
    problem.second.push_back(8);
    EXPECT_FALSE(answer());
    problem.first.push_back(8);
    problem.second.push_back(3);
    EXPECT_TRUE(answer());
    problem.first.push_back(8);
    problem.second.push_back(8);
    EXPECT_TRUE(answer());
    EXPECT_TRUE(is_symmetric(PairRows{}));
}

TEST(PairRows, RefusePointsThatDoNotExist) {
    const std::vector<int32_t> label = {0, 0, 0};
    const auto status = [&](int64_t n_row, std::vector<int32_t> first,
                            std::vector<int32_t> second) {
        try {
            PairTable table(n_row, label, first, second);
        } catch (const Error& error) {
            return error.status();
        }
        return Status::success;
    };
    EXPECT_EQ(status(2, {1}, {2}), Status::success);
    EXPECT_EQ(status(2, {2}, {1}), Status::invalid_argument);
    EXPECT_EQ(status(3, {0, 1}, {1, 3}), Status::invalid_argument);
    EXPECT_EQ(status(3, {-1}, {1}), Status::invalid_argument);
    EXPECT_EQ(status(3, {0, 1}, {1}), Status::shape);
    EXPECT_EQ(status(4, {0}, {1}), Status::shape);
}

TEST(PairWeights, AreMeansOverPairsOfAParticleThenOverParticles) {
    const std::vector<int32_t> label = {0, 0, 2, 1, -1};
    const std::vector<int64_t> counts = {4, 0, 10};
    std::vector<double> weight(5);
    pair_weights<double>(counts, label, weight);
    EXPECT_EQ(weight, (std::vector<double>{0.125, 0.125, 0.05, 0, 0}));
}

}  // namespace
}  // namespace surrogate::kernels::losses::test
