// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/sphere/gradient_problem.hpp"

namespace surrogate::kernels::sphere::test {
namespace {

class SphereBackwardOn : public OnTarget {};
SURROGATE_ON_ALL_TARGETS(SphereBackwardOn);

const std::vector<Heads> head_sizes = {{1, 1, 1},   {1, 7, 13},  {2, 3, 5},    {4, 8, 8},
                                       {3, 16, 17}, {1, 64, 32}, {1, 128, 130}};

GradientProblem problem(const Heads& heads, int64_t n_column, std::mt19937& random,
                        double score_size = 3) {
    return {NeighborhoodProblem(heads, n_column, 3, 5, some_lists(3, n_column), random, score_size),
            random};
}

/// Relative to the sum of sizes of terms: errors of scores (d products) and of log_sum count in p
/// with their absolute size, then products with gradients (e terms) and sums (n terms).
double bound(const GradientProblem& p) {
    const auto root = [](int64_t n) { return std::sqrt(static_cast<double>(n)); };
    return epsilon<float> * (4 * root(p.n_neighbor()) + root(p.heads.n_value_dim) +
                             2 * root(p.heads.n_key_dim) * (p.score_size + 20));
}

template <class T>
void expect_rows(RowTiles<T>& got, const Gradient& want, double bound) {
    const Tile<T> shape = got[0];
    const int64_t n = shape.shape[0] * shape.shape[1];
    for (size_t r = 0; r < got.boxes.size(); ++r) {
        SCOPED_TRACE(r);
        const Tile<const double> view{
            want.values.data() + static_cast<int64_t>(r) * n, shape.shape, {shape.shape[1], 1}};
        expect_close<T>(got.boxes[r].view(), view, bound * want.size);
    }
}
template <class T>
void expect_gradients(const GradientProblem& p, Gradients<T>& got, double factor) {
    expect_rows(got.dq, p.dq, bound(p) * factor);
    expect_rows(got.dk, p.dk, bound(p) * factor);
    expect_rows(got.dv, p.dv, bound(p) * factor);
}

template <class T>
void expect_same_rows(RowTiles<T>& got, RowTiles<T>& want) {
    for (size_t r = 0; r < want.boxes.size(); ++r) {
        SCOPED_TRACE(r);
        expect_same_bits<T>(got.boxes[r].view(), want.boxes[r].view());
    }
}
template <class T>
void expect_same_gradients(Gradients<T>& got, Gradients<T>& want) {
    expect_same_rows(got.dq, want.dq);
    expect_same_rows(got.dk, want.dk);
    expect_same_rows(got.dv, want.dv);
}

TEST(SphereBackwardReference, AgreesWithScatteredSumsInDouble) {
    auto random = generator();
    for (const Heads& heads : head_sizes) {
        const GradientProblem p = problem(heads, 20, random);
        GradientMemory<double> memory(p);
        Gradients<double> got(p);
        memory.run_all(Queue(Backend::ref, VectorLevel::scalar, 1), got);
        expect_gradients<double>(p, got, 1e-8);
    }
}

/// Rings of every kind of length with some heads, and heads of every size on one ring.
std::vector<GradientProblem> awkward_problems(std::mt19937& random) {
    std::vector<GradientProblem> all;
    for (int64_t n_column : {12, 20, 64, 90, 150})
        all.push_back(problem({2, 3, 5}, n_column, random));
    for (const Heads& heads : head_sizes) all.push_back(problem(heads, 31, random));
    return all;
}

TEST_P(SphereBackwardOn, AgreesWithDoubleOnAwkwardRows) {
    auto random = generator();
    for (const GradientProblem& p : awkward_problems(random)) {
        GradientMemory<float> memory(p);
        Gradients<float> got(p);
        memory.run_all(queue(), got);
        expect_gradients<float>(p, got, 1);
    }
}

TEST_P(SphereBackwardOn, AnySplitIntoCallsGivesTheSameBits) {
    auto random = generator();
    for (int64_t n_column : {31, 150}) {
        const GradientProblem p = problem({2, 7, 9}, n_column, random);
        GradientMemory<float> memory(p);
        Gradients<float> want(p);
        memory.run_all(queue(), want);
        for (int64_t columns : {1, 5, 16, 33}) {
            for (int64_t rows : {1, 2, 3}) {
                Gradients<float> got(p);
                memory.run_all(queue(), got, columns, rows);
                expect_same_gradients(got, want);
            }
        }
    }
}

/// Logits of +-200 (288 in base 2) and more.
TEST_P(SphereBackwardOn, LargeScoresAreHarmless) {
    auto random = generator();
    for (double size : {100.0, 2000.0}) {
        const GradientProblem p = problem({2, 16, 5}, 31, random, size);
        GradientMemory<float> memory(p);
        Gradients<float> got(p);
        memory.run_all(queue(), got);
        expect_gradients<float>(p, got, 1);
    }
}

/// Averages and logarithms of sums as forward gives them, for all query rows.
struct Forward {
    Forward(const Queue& queue, const GradientProblem& p) {
        NeighborhoodMemory<float> memory(p);
        std::vector<NeighborhoodRow<float>> rows;
        for (int64_t r = 0; r < p.n_query_row(); ++r) {
            q.emplace_back(TileBox<float>::input, p.heads.n_key_channel(), p.n_column);
            q.back().fill([&](int64_t c, int64_t i) { return p.query(r, c, i); });
            y.emplace_back(TileBox<float>::output, p.heads.n_value_channel(), p.n_column);
            log_sum.emplace_back(TileBox<float>::output, p.heads.n_head, p.n_column, Layout{1, 1});
        }
        for (size_t r = 0; r < q.size(); ++r)
            rows.push_back({p.list(static_cast<int64_t>(r)), q[r].input_view(), y[r].view(),
                            log_sum[r].view()});
        Traps traps;
        for (size_t r = 0; r < rows.size(); r += 8)
            attend_neighbors<float>(
                queue, p.heads, std::span(rows).subspan(r, std::min(rows.size() - r, size_t{8})), 0,
                memory.keys(), memory.values(), memory.weight.data(), memory.scratch.data());
    }
    std::vector<TileBox<float>> q, y, log_sum;
};

/// Scores of 1e30: no operation traps, and no weight is above 1.
TEST_P(SphereBackwardOn, HugeScoresGiveNumbers) {
    auto random = generator();
    GradientProblem p = problem({1, 3, 4}, 31, random, 1e30);
    Forward forward(queue(), p);
    for (int64_t r = 0; r < p.n_query_row(); ++r) {
        for (int64_t i = 0; i < 31; ++i)
            p.sums[static_cast<size_t>(r * 2 * 31 + i)] =
                forward.log_sum[static_cast<size_t>(r)].view()(0, i);
    }
    GradientMemory<float> memory(p);
    Gradients<float> got(p);
    memory.run_all(queue(), got);
    double most = 0;
    for (double value : p.dy) most += std::abs(value);
    for (int64_t r = 0; r < p.n_row; ++r)
        for (int64_t c = 0; c < 4; ++c)
            for (int64_t i = 0; i < 31; ++i) EXPECT_LE(std::abs(got.dv[r](c, i)), most);
}

TEST_P(SphereBackwardOn, KeysThatNobodySeesGetZeros) {
    auto random = generator();
    const std::vector<Strips> lists = {centred(3, 20, {1, -1, -1, -1, 4})};
    const GradientProblem p(NeighborhoodProblem({2, 3, 5}, 20, 3, 5, lists, random), random);
    GradientMemory<float> memory(p);
    Gradients<float> got(p);
    memory.run_all(queue(), got);
    expect_gradients<float>(p, got, 1);
    for (int64_t r : {1, 2, 3}) {
        for (int64_t i = 0; i < 20; ++i) {
            EXPECT_EQ(got.dk[r](5, i), 0);
            EXPECT_EQ(got.dv[r](9, i), 0);
        }
    }
}

/// Forward writes what backward needs, and its averages do not change by that.
TEST_P(SphereBackwardOn, ForwardWritesLogarithmsOfSums) {
    auto random = generator();
    for (const Heads& heads : head_sizes) {
        for (double size : {3.0, 1e7}) {
            const GradientProblem p = problem(heads, 31, random, size);
            NeighborhoodMemory<float> memory(p);
            Results<float> plain(p);
            memory.run_all(queue(), plain.views());
            Forward forward(queue(), p);
            const double root = std::sqrt(static_cast<double>(heads.n_key_dim));
            for (size_t r = 0; r < forward.y.size(); ++r) {
                forward.log_sum[r].expect_kept_inside("log_sum");
                expect_same_bits<float>(forward.y[r].view(), plain.boxes[r].view());
                for (int64_t h = 0; h < heads.n_head; ++h)
                    for (int64_t i = 0; i < 31; ++i)
                        ASSERT_NEAR(forward.log_sum[r].view()(h, i),
                                    p.sum(static_cast<int64_t>(r), h, i),
                                    epsilon<float> * (2 * root * p.score_size + 20));
            }
        }
    }
}

TEST(SphereBackwardLevels, GiveTheSameBits) {
    auto random = generator();
    for (const GradientProblem& p : awkward_problems(random)) {
        GradientMemory<float> memory(p);
        Gradients<float> want(p);
        memory.run_all(Queue(Backend::simd, VectorLevel::scalar, 1), want);
        for (VectorLevel level : wide_levels()) {
            Gradients<float> got(p);
            memory.run_all(Queue(Backend::simd, level, 1), got);
            expect_same_gradients(got, want);
        }
    }
}

}  // namespace
}  // namespace surrogate::kernels::sphere::test
