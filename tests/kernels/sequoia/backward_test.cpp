// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/base/reference_queue.hpp"
#include "tests/kernels/base/slope.hpp"
#include "tests/kernels/sequoia/tree_problem.hpp"

namespace surrogate::kernels::sequoia::test {
namespace {

class SequoiaBackwardOn : public OnTarget {};
SURROGATE_ON_ALL_TARGETS(SequoiaBackwardOn);

using kernels::test::reference;

/// Gradients of a problem's inputs, each with a number already in it.
template <class T>
struct Gradients {
    explicit Gradients(TreeProblem<T>& p, double start = 0)
        : dq(like(p.q)), dk(like(p.k)), dv(like(p.v)), g(like(p.v)) {
        for (size_t a = 0; a < p.upper_k.size(); ++a) {
            upper_k.push_back(like(p.upper_k[a]));
            upper_v.push_back(like(p.upper_v[a]));
        }
        for (TileBox<T>* box : all()) box->fill([&](int64_t, int64_t) { return start; });
    }
    static TileBox<T> like(const TileBox<T>& box) {
        const Tile<const T> view = box.input_view();
        return {TileBox<T>::output, view.shape[0], view.shape[1], {1, 2}};
    }
    std::vector<TileBox<T>*> all() {
        std::vector<TileBox<T>*> boxes = {&dq, &dk, &dv};
        for (TileBox<T>& box : upper_k) boxes.push_back(&box);
        for (TileBox<T>& box : upper_v) boxes.push_back(&box);
        return boxes;
    }

    void run(const Queue& queue, TreeProblem<T>& p, TileBox<T> dy) {
        std::vector<NodeGradient<T>> places;
        for (int64_t group = 0; group < p.shape.n_group(); ++group) {
            for (size_t a = 0; a < upper_k.size(); ++a) {
                const int64_t column = p.column(group, static_cast<int64_t>(a));
                const Tile<T> k = upper_k[a].view(), v = upper_v[a].view();
                places.push_back({&k(0, column), &v(0, column), k.stride[0]});
            }
        }
        Buffer<T> scratch(tree_scratch(p.shape.heads, p.shape.k, p.shape.n_ancestor));
        const Surroundings<T> around = p.around();
        const Traps traps;
        take_thirds<T>(queue, dy.view(), g.view());
        attend_tree_backward<T>(queue, p.shape.heads, p.q.input_view(), p.k.input_view(),
                                p.v.input_view(), around, g.input_view(), places, scratch.data(),
                                dq.view(), dk.view(), dv.view());
    }

    TileBox<T> dq, dk, dv, g;
    std::vector<TileBox<T>> upper_k, upper_v;
};

template <class T>
TileBox<T> gradient_of_result(const Shape& shape) {
    TileBox<T> dy(TileBox<T>::input, shape.heads.n_value_channel(), shape.n_node, {0, 1});
    dy.fill([](int64_t c, int64_t i) {
        return static_cast<float>(std::sin(static_cast<double>(1 + 3 * c + 7 * i)));
    });
    return dy;
}

/// d loss / d x for the first and the last channel of a box of inputs.
void expect_slopes_of(const char* what, TileBox<double>& x, TileBox<double>& dx, const auto& loss) {
    for (int64_t c : {int64_t(0), x.view().shape[0] - 1})
        expect_slopes(what, &x.view()(c, 0), &dx.view()(c, 0), x.view().shape[1], loss, 1e-8);
}

TEST(SequoiaBackwardReference, AgreesWithDifferences) {
    auto random = generator();
    for (const Shape& shape : tree_shapes) {
        if (shape.heads.n_key_dim > 100) continue;  // differences of it would take long
        SCOPED_TRACE(shape.text());
        TreeProblem<double> p(shape, random);
        TileBox<double> y(TileBox<double>::output, shape.heads.n_value_channel(), shape.n_node);
        Gradients<double> gradients(p);
        gradients.run(reference, p, gradient_of_result<double>(shape));
        const TileBox<double> dy = gradient_of_result<double>(shape);
        const auto loss = [&] {
            p.run(reference, y.view());
            return inner_product(dy.input_view(), y.view());
        };
        expect_slopes_of("q", p.q, gradients.dq, loss);
        expect_slopes_of("k", p.k, gradients.dk, loss);
        expect_slopes_of("v", p.v, gradients.dv, loss);
        if (shape.has_children) expect_slopes_of("children", p.children, gradients.g, loss);
        for (size_t a = 0; a < p.upper_k.size(); ++a) {
            expect_slopes_of("an ancestor's key", p.upper_k[a], gradients.upper_k[a], loss);
            expect_slopes_of("an ancestor's value", p.upper_v[a], gradients.upper_v[a], loss);
        }
    }
}

/// Sums of `n` terms of size one, each wrong by the rounding of a score.
template <class Gradients>
double backward_bound(Gradients&& want, int64_t n, int64_t d) {
    double largest = 1;
    for (TileBox<double>* box : want.all())
        for (int64_t c = 0; c < box->view().shape[0]; ++c)
            for (int64_t i = 0; i < box->view().shape[1]; ++i)
                largest = std::max(largest, std::abs(box->view()(c, i)));
    return 16 * epsilon<float> * largest * std::sqrt(static_cast<double>(n)) *
           std::sqrt(static_cast<double>(d));
}

TEST_P(SequoiaBackwardOn, AgreesWithDoubleAndAddsToWhatIsThere) {
    auto random = generator();
    for (const Shape& shape : tree_shapes) {
        SCOPED_TRACE(shape.text());
        TreeProblem<float> p(shape, random);
        TreeProblem<double> exact(p);
        Gradients<double> want(exact, 0.5);
        TileBox<double> dy(TileBox<double>::input, shape.heads.n_value_channel(), shape.n_node);
        dy.fill_from(gradient_of_result<float>(shape));
        want.run(reference, exact, std::move(dy));
        Gradients<float> got(p, 0.5);
        got.run(queue(), p, gradient_of_result<float>(shape));
        const double bound =
            backward_bound(want, shape.k + shape.n_ancestor, shape.heads.n_key_dim);
        const auto wanted = want.all();
        const auto boxes = got.all();
        for (size_t b = 0; b < boxes.size(); ++b) {
            SCOPED_TRACE(b);
            expect_close<float>(boxes[b]->view(), wanted[b]->view(), bound);
            boxes[b]->expect_kept_inside("a gradient");
            expect_padding_kept<float>(boxes[b]->view());
        }
        p.expect_unchanged();
    }
}

TEST(SequoiaBackwardLevels, GiveTheSameBits) {
    auto random = generator();
    for (const Shape& shape : tree_shapes) {
        SCOPED_TRACE(shape.text());
        TreeProblem<float> p(shape, random);
        Gradients<float> want(p);
        want.run(Queue(Backend::simd, VectorLevel::scalar, 1), p, gradient_of_result<float>(shape));
        for (VectorLevel level : wide_levels()) {
            Gradients<float> got(p);
            got.run(Queue(Backend::simd, level, 1), p, gradient_of_result<float>(shape));
            for (size_t b = 0; b < got.all().size(); ++b) {
                SCOPED_TRACE(b);
                expect_same_bits<float>(got.all()[b]->view(), want.all()[b]->view());
            }
        }
    }
}

/// The last group of a tile of three alone gives the same gradients, its parent's among them.
TEST_P(SequoiaBackwardOn, AGroupHasTheSameBitsWhereverItStands) {
    auto random = generator();
    for (int64_t k : {3, 16, 20}) {
        SCOPED_TRACE(k);
        TreeProblem<float> p({{2, 5, 6}, k, 3 * k, 1}, random), one({{2, 5, 6}, k, k, 1});
        const auto last = [](const TileBox<float>& box, int64_t first) {
            return [&, first](int64_t c, int64_t i) { return box.input_view()(c, first + i); };
        };
        for (size_t b = 0; b < 6; ++b) one.all()[b]->fill(last(*p.all()[b], b < 4 ? 2 * k : 2));
        const TileBox<float> dy = gradient_of_result<float>(p.shape);
        TileBox<float> own(TileBox<float>::input, 12, k);
        own.fill(last(dy, 2 * k));
        Gradients<float> all(p), got(one);
        all.run(queue(), p, gradient_of_result<float>(p.shape));
        got.run(queue(), one, std::move(own));
        for (size_t b = 0; b < got.all().size(); ++b) {
            SCOPED_TRACE(b);
            const Tile<const float> tile = all.all()[b]->view(), want = got.all()[b]->view();
            const int64_t first = tile.shape[1] - want.shape[1];
            expect_same_bits<float>({tile.data + first, want.shape, tile.stride}, want);
        }
    }
}

template <class T>
struct ChildrenGradients {
    explicit ChildrenGradients(ChildrenProblem<T>& p, double start = 0)
        : dq(Gradients<T>::like(p.q)), dk(Gradients<T>::like(p.k)), dv(Gradients<T>::like(p.v)) {
        for (TileBox<T>* box : all()) box->fill([&](int64_t, int64_t) { return start; });
    }
    std::vector<TileBox<T>*> all() { return {&dq, &dk, &dv}; }
    void run(const Queue& queue, ChildrenProblem<T>& p) {
        const TileBox<T> g = gradient_of(p);
        Buffer<T> scratch(tree_scratch(p.shape.heads, p.shape.k, 0));
        const Traps traps;
        attend_children_backward<T>(
            queue, p.shape.heads, p.shape.k, p.shape.n_last, p.q.input_view(), p.k.input_view(),
            p.v.input_view(), g.input_view(), scratch.data(), dq.view(), dk.view(), dv.view());
    }
    static TileBox<T> gradient_of(const ChildrenProblem<T>& p) {
        TileBox<T> g(TileBox<T>::input, p.shape.heads.n_value_channel(), p.shape.n_parent());
        g.fill([](int64_t c, int64_t i) {
            return static_cast<float>(std::sin(static_cast<double>(1 + 3 * c + 7 * i)));
        });
        return g;
    }
    TileBox<T> dq, dk, dv;
};

TEST(SequoiaBackwardReference, OfChildrenAgreesWithDifferences) {
    auto random = generator();
    for (const ChildrenShape& shape : children_shapes) {
        SCOPED_TRACE(shape.text());
        ChildrenProblem<double> p(shape, random);
        ChildrenGradients<double> gradients(p);
        gradients.run(reference, p);
        const TileBox<double> g = ChildrenGradients<double>::gradient_of(p);
        TileBox<double> y = p.result_box();
        const auto loss = [&] {
            p.run(reference, y.view());
            return inner_product(g.input_view(), y.view());
        };
        expect_slopes_of("q", p.q, gradients.dq, loss);
        expect_slopes_of("k", p.k, gradients.dk, loss);
        expect_slopes_of("v", p.v, gradients.dv, loss);
    }
}

TEST_P(SequoiaBackwardOn, OfChildrenAgreesWithDoubleAndAddsToWhatIsThere) {
    auto random = generator();
    for (const ChildrenShape& shape : children_shapes) {
        SCOPED_TRACE(shape.text());
        ChildrenProblem<float> p(shape, random);
        ChildrenProblem<double> exact(p);
        ChildrenGradients<double> want(exact, 0.5);
        want.run(reference, exact);
        ChildrenGradients<float> got(p, 0.5);
        got.run(queue(), p);
        const double bound = backward_bound(want, shape.k, shape.heads.n_key_dim);
        for (size_t b = 0; b < 3; ++b) {
            SCOPED_TRACE(b);
            expect_close<float>(got.all()[b]->view(), want.all()[b]->view(), bound);
            got.all()[b]->expect_kept_inside("a gradient");
            expect_padding_kept<float>(got.all()[b]->view());
        }
    }
}

TEST(SequoiaBackwardLevels, GiveTheSameBitsOfChildren) {
    auto random = generator();
    for (const ChildrenShape& shape : children_shapes) {
        SCOPED_TRACE(shape.text());
        ChildrenProblem<float> p(shape, random);
        ChildrenGradients<float> want(p);
        want.run(Queue(Backend::simd, VectorLevel::scalar, 1), p);
        for (VectorLevel level : wide_levels()) {
            ChildrenGradients<float> got(p);
            got.run(Queue(Backend::simd, level, 1), p);
            for (size_t b = 0; b < 3; ++b)
                expect_same_bits<float>(got.all()[b]->view(), want.all()[b]->view());
        }
    }
}

TEST_P(SequoiaBackwardOn, ThirdsAreTakenOut) {
    TileBox<float> dy(TileBox<float>::input, 2, 3), g(TileBox<float>::output, 2, 3);
    dy.fill([](int64_t c, int64_t i) { return 3 * c + 6 * i; });
    take_thirds<float>(queue(), dy.view(), g.view());
    EXPECT_EQ(g.view()(1, 2), 5);
    EXPECT_EQ(dy.view()(1, 2), 0);
    expect_padding_kept<float>(g.view());
}

}  // namespace
}  // namespace surrogate::kernels::sequoia::test
