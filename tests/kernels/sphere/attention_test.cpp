// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/sphere/attention_problem.hpp"

namespace surrogate::kernels::sphere::test {
namespace {

class SphereAttentionOn : public OnTarget {};
SURROGATE_ON_ALL_TARGETS(SphereAttentionOn);

/// Errors of the scores (d products), of the weights and of the sums (n terms).
double bound(const NeighborhoodProblem& p, double score_size) {
    const double n = static_cast<double>(p.n_neighbor());
    const double d = static_cast<double>(p.heads.n_key_dim);
    return epsilon<float> * (4 * std::sqrt(n) + 2 * std::sqrt(d) * score_size) * 4;
}

template <class T>
void expect_answers(const NeighborhoodProblem& p, Results<T>& results, double factor) {
    for (int64_t r = 0; r < p.n_query_row(); ++r) {
        SCOPED_TRACE(r);
        double size = 0;
        const std::vector<double> want = p.answer(r, size);
        const Tile<const double> view{
            want.data(), {p.heads.n_value_channel(), p.n_column}, {p.n_column, 1}};
        TileBox<T>& got = results.boxes[static_cast<size_t>(r)];
        got.expect_kept_inside("y");
        expect_close<T>(got.view(), view, bound(p, size) * factor);
    }
}

template <class T>
void expect_same_results(Results<T>& got, Results<T>& want) {
    for (size_t r = 0; r < want.boxes.size(); ++r) {
        SCOPED_TRACE(r);
        expect_same_bits<T>(got.boxes[r].view(), want.boxes[r].view());
    }
}

const std::vector<Heads> head_sizes = {{1, 1, 1},   {1, 7, 13},  {2, 3, 5},    {4, 8, 8},
                                       {3, 16, 17}, {1, 64, 32}, {1, 128, 128}};

const std::vector<int64_t> column_counts = {12, 20, 31, 64, 90};

TEST(SphereAttentionReference, AgreesWithTheFormulaInDouble) {
    auto random = generator();
    for (const Heads& heads : head_sizes) {
        const NeighborhoodProblem p(heads, 20, 7, 5, some_lists(7, 20), random);
        NeighborhoodMemory<double> memory(p);
        Results<double> y(p);
        memory.run_all(Queue(Backend::ref, VectorLevel::scalar, 1), y.views());
        expect_answers<double>(p, y, 1e-8);
    }
}

TEST_P(SphereAttentionOn, AgreesWithDoubleOnAwkwardRows) {
    auto random = generator();
    for (int64_t n_column : column_counts) {
        for (const Heads& heads : head_sizes) {
            const NeighborhoodProblem p(heads, n_column, 3, 5, some_lists(3, n_column), random);
            NeighborhoodMemory<float> memory(p);
            Results<float> y(p);
            memory.run_all(queue(), y.views());
            expect_answers<float>(p, y, 1);
        }
    }
}

TEST_P(SphereAttentionOn, AnySplitIntoCallsGivesTheSameBits) {
    auto random = generator();
    for (int64_t n_column : {31, 90}) {
        const NeighborhoodProblem p({2, 7, 9}, n_column, 0, 5, some_lists(0, n_column), random);
        NeighborhoodMemory<float> memory(p);
        Results<float> want(p);
        memory.run_all(queue(), want.views());
        for (int64_t columns : {1, 5, 16, 33}) {
            for (int64_t rows : {1, 2, 3}) {
                Results<float> y(p);
                memory.run_all(queue(), y.views(), columns, rows);
                expect_same_results(y, want);
            }
        }
    }
}

/// The same problem with everything moved east by some columns.
NeighborhoodProblem moved(NeighborhoodProblem p, int64_t columns) {
    for (std::vector<double>* x : {&p.q, &p.k, &p.v}) {
        for (size_t row = 0; row < x->size(); row += static_cast<size_t>(p.n_column)) {
            const auto begin = x->begin() + static_cast<int64_t>(row);
            std::rotate(begin, begin + p.n_column - columns, begin + p.n_column);
        }
    }
    return p;
}

TEST_P(SphereAttentionOn, MovingTheInputMovesTheOutputToTheBit) {
    auto random = generator();
    for (int64_t n_column : column_counts) {
        const NeighborhoodProblem p({2, 7, 9}, n_column, 0, 5, some_lists(0, n_column), random);
        NeighborhoodMemory<float> memory(p);
        Results<float> y(p);
        memory.run_all(queue(), y.views());
        for (int64_t columns : {int64_t{1}, int64_t{5}, n_column - 1}) {
            const NeighborhoodProblem east = moved(p, columns);
            NeighborhoodMemory<float> memory_east(east);
            Results<float> got(p);
            memory_east.run_all(queue(), got.views());
            for (size_t r = 0; r < y.boxes.size(); ++r) {
                for (int64_t c = 0; c < p.heads.n_value_channel(); ++c)
                    for (int64_t i = 0; i < n_column; ++i)
                        ASSERT_EQ(got.boxes[r].view()(c, (i + columns) % n_column),
                                  y.boxes[r].view()(c, i))
                            << "row " << r << ", channel " << c << ", column " << i;
            }
        }
    }
}

TEST_P(SphereAttentionOn, ConstantValuesComeOutAsTheyAre) {
    auto random = generator();
    NeighborhoodProblem p({2, 5, 3}, 31, 0, 5, some_lists(0, 31), random, 30);
    for (double& value : p.v) value = -1.75;
    NeighborhoodMemory<float> memory(p);
    Results<float> y(p);
    memory.run_all(queue(), y.views());
    const double n = static_cast<double>(p.n_neighbor());
    for (TileBox<float>& box : y.boxes) {
        for (int64_t c = 0; c < p.heads.n_value_channel(); ++c)
            for (int64_t i = 0; i < p.n_column; ++i)
                ASSERT_NEAR(box.view()(c, i), -1.75, 1.75 * 2 * epsilon<float> * std::sqrt(n));
    }
}

TEST_P(SphereAttentionOn, OneNeighborIsPassedOnExactly) {
    auto random = generator();
    const NeighborhoodProblem p({1, 9, 6}, 20, 0, 5, {{{2, 0, 1}}, {{2, -3, 1}}}, random, 50);
    NeighborhoodMemory<float> memory(p);
    Results<float> y(p);
    memory.run_all(queue(), y.views());
    for (int64_t c = 0; c < 6; ++c) {
        for (int64_t i = 0; i < 20; ++i) {
            ASSERT_NEAR(y.boxes[0].view()(c, i), p.value(2, c, i), epsilon<float> * 4);
            ASSERT_NEAR(y.boxes[1].view()(c, i), p.value(2, c, i - 3), epsilon<float> * 4);
        }
    }
}

/// Logits of +-200 (288 in base 2) and more: sums of powers would overflow without the maximum.
TEST_P(SphereAttentionOn, LargeScoresAreHarmless) {
    auto random = generator();
    for (double size : {100.0, 2000.0}) {
        const NeighborhoodProblem p({2, 16, 5}, 31, 0, 5, some_lists(0, 31), random, size);
        NeighborhoodMemory<float> memory(p);
        Results<float> y(p);
        memory.run_all(queue(), y.views());
        expect_answers<float>(p, y, 1);
    }
}

/// Scores of 1e30: only the largest counts, and lanes beside them are bitwise unchanged.
TEST_P(SphereAttentionOn, HugeScoresChooseTheLargest) {
    auto random = generator();
    NeighborhoodProblem p({1, 3, 4}, 31, 0, 5, some_lists(0, 31), random);
    NeighborhoodMemory<float> calm(p);
    Results<float> before(p), after(p);
    calm.run_all(queue(), before.views());
    const int64_t huge[] = {0, 7, 30};
    for (int64_t r = 0; r < p.n_query_row(); ++r)
        for (int64_t c = 0; c < 3; ++c)
            for (int64_t i : huge)
                p.q[static_cast<size_t>((r * 3 + c) * 31 + i)] *= static_cast<float>(1e30);
    NeighborhoodMemory<float> memory(p);
    memory.run_all(queue(), after.views());
    for (int64_t r = 0; r < p.n_query_row(); ++r) {
        double size = 0;
        const std::vector<double> want = p.answer(r, size);
        Tile<float> got = after.boxes[static_cast<size_t>(r)].view();
        for (int64_t c = 0; c < 4; ++c) {
            for (int64_t i = 0; i < 31; ++i) {
                const bool is_huge = std::count(std::begin(huge), std::end(huge), i) > 0;
                if (is_huge)
                    ASSERT_NEAR(got(c, i), want[static_cast<size_t>(c * 31 + i)], 1e-5);
                else
                    ASSERT_EQ(got(c, i), before.boxes[static_cast<size_t>(r)].view()(c, i));
            }
        }
    }
}

TEST_P(SphereAttentionOn, NaNReachesThoseThatSeeIt) {
    auto random = generator();
    const std::vector<Strips> lists = {centred(0, 90, {2, 2, 2, 1, 0}),
                                       centred(0, 90, {1, 2, 3, 14, 1})};
    for (bool in_keys : {true, false}) {
        NeighborhoodProblem p({1, 4, 4}, 90, 0, 5, lists, random);
        NeighborhoodMemory<float> memory(p);
        Results<float> y(p);
        Buffer<float>& data = in_keys ? memory.k : memory.v;
        const RingLayout& layout = in_keys ? memory.k_layout : memory.v_layout;
        const Rings<float> rings{&layout, data.data()};
        rings.at(3, 1)[45] = std::numeric_limits<float>::quiet_NaN();
        memory.run_quietly(queue(), y.views());
        for (int64_t r = 0; r < 2; ++r) {
            const int64_t half = r == 0 ? 1 : 14;
            for (int64_t i = 0; i < 90; ++i) {
                const float value = y.boxes[static_cast<size_t>(r)].view()(1, i);
                const int64_t distance = std::abs(i - 45);
                if (distance <= half) {
                    EXPECT_TRUE(std::isnan(value)) << i;
                }
                if (distance > 14 + lane_count) {
                    EXPECT_FALSE(std::isnan(value)) << i;
                }
            }
        }
    }
}

TEST(SphereAttentionLevels, GiveTheSameBits) {
    auto random = generator();
    for (int64_t n_column : {20, 64, 90}) {
        for (const Heads& heads : head_sizes) {
            const NeighborhoodProblem p(heads, n_column, 0, 5, some_lists(0, n_column), random);
            NeighborhoodMemory<float> memory(p);
            Results<float> want(p);
            memory.run_all(Queue(Backend::simd, VectorLevel::scalar, 1), want.views());
            for (VectorLevel level : wide_levels()) {
                Results<float> y(p);
                memory.run_all(Queue(Backend::simd, level, 1), y.views());
                expect_same_results(y, want);
            }
        }
    }
}

}  // namespace
}  // namespace surrogate::kernels::sphere::test
