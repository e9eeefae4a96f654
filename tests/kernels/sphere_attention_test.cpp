// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/sphere_attention_problem.hpp"

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
