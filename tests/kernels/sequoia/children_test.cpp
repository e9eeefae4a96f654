// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/sequoia/tree_problem.hpp"

namespace surrogate::kernels::sequoia::test {
namespace {

class SequoiaChildrenOn : public OnTarget {};
SURROGATE_ON_ALL_TARGETS(SequoiaChildrenOn);

TEST(SequoiaChildrenReference, AgreesWithTheFormulaInDouble) {
    auto random = generator();
    for (const ChildrenShape& shape : children_shapes) {
        SCOPED_TRACE(shape.text());
        ChildrenProblem<double> p(shape, random);
        TileBox<double> y = p.result_box();
        p.run(Queue(Backend::ref, VectorLevel::scalar, 1), y.view());
        p.expect_answer(y.view(), epsilon<double>);
    }
}

TEST_P(SequoiaChildrenOn, AgreesWithDoubleOnAwkwardTiles) {
    auto random = generator();
    for (const ChildrenShape& shape : children_shapes) {
        SCOPED_TRACE(shape.text());
        ChildrenProblem<float> p(shape, random);
        TileBox<float> y = p.result_box();
        p.run(queue(), y.view());
        p.expect_answer(y.view(), epsilon<float>);
        y.expect_kept_inside("y");
        expect_padding_kept<float>(y.view());
        for (TileBox<float>* box : p.all()) box->expect_unchanged("an input");
    }
}

TEST_P(SequoiaChildrenOn, AParentHasTheSameBitsWhereverItStands) {
    auto random = generator();
    for (const ChildrenShape& shape : children_shapes) {
        SCOPED_TRACE(shape.text());
        ChildrenProblem<float> p(shape, random);
        TileBox<float> y = p.result_box();
        p.run(queue(), y.view());
        for (int64_t parent = 0; parent < shape.n_child / shape.k; ++parent) {
            const bool is_last = (parent + 1) * shape.k == shape.n_child;
            ChildrenProblem<float> one({shape.heads, shape.k, shape.k, is_last ? shape.n_last : 1},
                                       Layout{0, 7});
            one.q.fill([&](int64_t c, int64_t) { return p.q.input_view()(c, parent); });
            const auto child = [&](const TileBox<float>& box) {
                return [&, first = parent * shape.k](int64_t c, int64_t j) {
                    return box.input_view()(c, first + j);
                };
            };
            one.k.fill(child(p.k));
            one.v.fill(child(p.v));
            TileBox<float> want = one.result_box();
            one.run(queue(), want.view());
            const Tile<const float> all = y.view();
            expect_same_bits<float>({all.data + parent, {all.shape[0], 1}, all.stride},
                                    want.view());
        }
    }
}

TEST(SequoiaChildrenLevels, GiveTheSameBits) {
    auto random = generator();
    for (const ChildrenShape& shape : children_shapes) {
        SCOPED_TRACE(shape.text());
        ChildrenProblem<float> p(shape, random);
        TileBox<float> want = p.result_box(), y = p.result_box();
        p.run(Queue(Backend::simd, VectorLevel::scalar, 1), want.view());
        for (VectorLevel level : wide_levels()) {
            p.run(Queue(Backend::simd, level, 1), y.view());
            expect_same_bits<float>(y.view(), want.view());
        }
    }
}

TEST_P(SequoiaChildrenOn, TheLastChildCountsSeveralTimes) {
    // Equal scores: the average is the average of the counts, here 0, 1, and 2 six times.
    ChildrenProblem<float> p({{1, 1, 1}, 8, 3, 6});
    p.q.fill([](int64_t, int64_t) { return 1; });
    p.k.fill([](int64_t, int64_t) { return 4; });
    p.v.fill([](int64_t, int64_t j) { return j; });
    TileBox<float> y = p.result_box();
    p.run(queue(), y.view());
    EXPECT_NEAR(y.view()(0, 0), (0 + 1 + 2 * 6) / 8.0, 1e-6);
}

TEST_P(SequoiaChildrenOn, ScoresOfAnySizeGiveWeights) {
    auto random = generator();
    for (float size : {1e3f, 1e6f, 1e12f, 1e30f}) {
        ChildrenProblem<float> p({{2, 4, 3}, 16, 40, 9}, random);
        p.q.fill([&](int64_t, int64_t i) { return i % 2 ? size : -size; });
        p.k.fill([](int64_t, int64_t i) { return i % 16 - 7.5; });
        TileBox<float> y = p.result_box();
        p.run(queue(), y.view());
        TileBox<double> want(TileBox<double>::output, 6, 3);
        double largest = 0;
        want.fill([&](int64_t c, int64_t i) { return p.answer(c, i, largest); });
        expect_close<float>(y.view(), want.view(), 1e-5);
    }
}

TEST_P(SequoiaChildrenOn, NaNReachesTheParentAlone) {
    auto random = generator();
    for (int64_t k : {5, 16}) {
        for (bool is_key : {true, false}) {
            ChildrenProblem<float> p({{2, 3, 3}, k, 3 * k}, random);
            (is_key ? p.k : p.v).view()(4, k + 2) = unlucky_nan();
            TileBox<float> y = p.result_box();
            p.run_without_traps(queue(), y.view());
            for (int64_t i = 0; i < 3; ++i) {
                EXPECT_FALSE(std::isnan(y.view()(1, i)));
                EXPECT_EQ(std::isnan(y.view()(4, i)), i == 1);
            }
        }
    }
}

}  // namespace
}  // namespace surrogate::kernels::sequoia::test
