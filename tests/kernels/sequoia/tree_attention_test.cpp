// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/base/reference_queue.hpp"
#include "tests/kernels/sequoia/tree_problem.hpp"

namespace surrogate::kernels::sequoia::test {
namespace {

class SequoiaTreeOn : public OnTarget {};
SURROGATE_ON_ALL_TARGETS(SequoiaTreeOn);

using kernels::test::reference;

template <class T>
TileBox<T> result_box(const Shape& shape, Layout layout = {1, 5}) {
    return {TileBox<T>::output, shape.heads.n_value_channel(), shape.n_node, layout};
}

template <class T>
void expect_answer(TreeProblem<T>& p, Tile<const T> y, double eps) {
    TileBox<double> want = result_box<double>(p.shape);
    double size = 0;
    want.fill([&](int64_t c, int64_t i) { return p.answer(c, i, size); });
    expect_close<T>(
        y, want.view(),
        forward_bound(p.shape.k + p.shape.n_ancestor, p.shape.heads.n_key_dim, eps, size));
}

TEST(SequoiaTreeReference, AgreesWithTheFormulaInDouble) {
    auto random = generator();
    for (const Shape& shape : tree_shapes) {
        SCOPED_TRACE(shape.text());
        TreeProblem<double> p(shape, random);
        TileBox<double> y = result_box<double>(shape);
        p.run(reference, y.view());
        expect_answer<double>(p, y.view(), epsilon<double>);
    }
}

TEST_P(SequoiaTreeOn, AgreesWithDoubleOnAwkwardTiles) {
    auto random = generator();
    for (const Shape& shape : tree_shapes) {
        SCOPED_TRACE(shape.text());
        TreeProblem<float> p(shape, random);
        TileBox<float> y = result_box<float>(shape);
        p.run(queue(), y.view());
        expect_answer<float>(p, y.view(), epsilon<float>);
        y.expect_kept_inside("y");
        expect_padding_kept<float>(y.view());
        p.expect_unchanged();
    }
}

TEST_P(SequoiaTreeOn, ResultsMayReplaceTheValues) {
    auto random = generator();
    for (const Shape& shape : tree_shapes) {
        SCOPED_TRACE(shape.text());
        TreeProblem<float> p(shape, random);
        TileBox<float> want = result_box<float>(shape);
        p.run(queue(), want.view());
        p.run(queue(), p.v.view());
        expect_same_bits<float>(p.v.view(), want.view());
    }
}

TEST_P(SequoiaTreeOn, AHandfulOfNumbersByHand) {
    // One head of one channel, k = 2, two nodes: scores 0 and 1 (base 2), 0 and 2.
    TreeProblem<float> p({{1, 1, 1}, 2, 2, 1});
    p.q.fill([](int64_t, int64_t i) { return i + 1; });
    p.k.fill([](int64_t, int64_t i) { return i; });
    p.v.fill([](int64_t, int64_t i) { return 3 * i; });
    p.children.fill([](int64_t, int64_t) { return 9; });
    p.upper_k[0].fill([](int64_t, int64_t) { return 5; });
    p.upper_v[0].fill([](int64_t, int64_t) { return 30; });
    TileBox<float> y = result_box<float>(p.shape);
    p.run(queue(), y.view());
    EXPECT_NEAR(y.view()(0, 0), (30 + 2.0 / 3 * 3 + 9) / 3, 1e-5);
    EXPECT_NEAR(y.view()(0, 1), (30 + 4.0 / 5 * 3 + 9) / 3, 1e-5);
}

TEST_P(SequoiaTreeOn, ANodeWithoutNeighborhoodsGetsZero) {
    auto random = generator();
    TreeProblem<float> p({{2, 3, 3}, 16, 20, 0, false, false}, random);
    TileBox<float> y = result_box<float>(p.shape);
    p.run(queue(), y.view());
    for (int64_t c = 0; c < 6; ++c)
        for (int64_t i = 0; i < 20; ++i) ASSERT_EQ(y.view()(c, i), 0);
}

/// The group of nodes [first, first + count) of a problem alone in a tile.
TreeProblem<float> alone(TreeProblem<float>& p, int64_t g, int64_t count) {
    Shape shape = p.shape;
    shape.n_node = count;
    shape.n_last = 1;
    TreeProblem<float> one(shape, Layout{0, 7});
    const auto from = p.all();
    const auto to = one.all();
    for (size_t b = 0; b < to.size(); ++b) {
        const int64_t a = (static_cast<int64_t>(b) - 4) % std::max<int64_t>(p.shape.n_ancestor, 1);
        const int64_t first = b < 4 ? g * shape.k : p.column(g, a);
        to[b]->fill([&](int64_t c, int64_t i) { return from[b]->input_view()(c, first + i); });
    }
    return one;
}

TEST_P(SequoiaTreeOn, AGroupHasTheSameBitsWhereverItStands) {
    auto random = generator();
    for (const Shape& shape : tree_shapes) {
        SCOPED_TRACE(shape.text());
        TreeProblem<float> p(shape, random);
        TileBox<float> y = result_box<float>(shape);
        p.run(queue(), y.view());
        const int64_t n_whole = shape.n_node / shape.k;
        for (int64_t g = 0; g < n_whole; ++g) {
            if ((g + 1) * shape.k == shape.n_node && shape.n_last > 1) continue;
            TreeProblem<float> one = alone(p, g, shape.k);
            TileBox<float> want = result_box<float>(one.shape, {0, 2});
            one.run(queue(), want.view());
            const Tile<const float> all = y.view();
            const Tile<const float> got{
                all.data + g * shape.k, {all.shape[0], shape.k}, all.stride};
            expect_same_bits<float>(got, want.view());
        }
    }
}

TEST(SequoiaTreeLevels, GiveTheSameBits) {
    auto random = generator();
    for (const Shape& shape : tree_shapes) {
        SCOPED_TRACE(shape.text());
        TreeProblem<float> p(shape, random);
        TileBox<float> want = result_box<float>(shape), y = result_box<float>(shape);
        p.run(Queue(Backend::simd, VectorLevel::scalar, 1), want.view());
        for (VectorLevel level : wide_levels()) {
            p.run(Queue(Backend::simd, level, 1), y.view());
            expect_same_bits<float>(y.view(), want.view());
        }
    }
}

TEST_P(SequoiaTreeOn, ScoresOfAnySizeGiveWeights) {
    auto random = generator();
    for (double score_size : {1e3, 1e6, 1e12, 1e30}) {
        SCOPED_TRACE(score_size);
        TreeProblem<float> p({{2, 4, 3}, 16, 32, 3}, random, score_size);
        // Keys far apart: in double as in single precision one of them takes all.
        p.k.fill([](int64_t, int64_t i) { return static_cast<double>(i % 16) - 7.5; });
        p.q.fill([&](int64_t c, int64_t i) {
            return score_size * (c + 1) * (i % 2 ? -1 : 1) * (1 + 0.01 * static_cast<double>(i));
        });
        for (size_t a = 0; a < 3; ++a)
            p.upper_k[a].fill([&](int64_t, int64_t) { return static_cast<double>(a) - 1.1; });
        TileBox<float> y = result_box<float>(p.shape);
        p.run(queue(), y.view());
        TileBox<double> want = result_box<double>(p.shape);
        double size = 0;
        want.fill([&](int64_t c, int64_t i) { return p.answer(c, i, size); });
        expect_close<float>(y.view(), want.view(), 1e-5);
    }
}

TEST_P(SequoiaTreeOn, NaNStaysInItsGroup) {
    auto random = generator();
    for (int64_t k : {5, 16}) {
        for (bool is_key : {true, false}) {
            TreeProblem<float> p({{2, 3, 3}, k, 3 * k, 1}, random);
            (is_key ? p.k : p.v).view()(4, k + 2) = unlucky_nan();
            TileBox<float> y = result_box<float>(p.shape);
            p.run_without_traps(queue(), y.view());
            for (int64_t i = 0; i < 3 * k; ++i) {
                EXPECT_FALSE(std::isnan(y.view()(1, i)));  // the other head
                EXPECT_EQ(std::isnan(y.view()(4, i)), i / k == 1);
            }
        }
    }
}

}  // namespace
}  // namespace surrogate::kernels::sequoia::test
