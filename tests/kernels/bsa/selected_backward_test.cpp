// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/base/slope.hpp"
#include "tests/kernels/bsa/selected_problem.hpp"

namespace surrogate::kernels::bsa::test {
namespace {

class SelectedBackwardOn : public OnTarget {};
SURROGATE_ON_ALL_TARGETS(SelectedBackwardOn);

/// Inputs and outputs of the backward pass of one problem.
template <class T>
struct Gradients {
    Gradients(const SelectedCase& size)
        : y(TileBox<T>::output, size.heads.n_value_channel(), size.n_query),
          dy(TileBox<T>::input, size.heads.n_value_channel(), size.n_query, {0, 2}),
          log_sum(TileBox<T>::input, size.heads.n_head, size.n_query, {1, 1}),
          delta(TileBox<T>::input, size.heads.n_head, size.n_query),
          dq(TileBox<T>::output, size.heads.n_key_channel(), size.n_query, {1, 1}),
          dk(TileBox<T>::output, size.heads.n_key_channel(), size.n_block * size.l, {0, 1}),
          dv(TileBox<T>::output, size.heads.n_value_channel(), size.n_block * size.l, {0, 1}) {}

    void run(const SelectedData<T>& data, const Queue& queue) {
        data.run(queue, y.view(), log_sum.view());
        fill_delta<T>(data.size.heads, y.view(), dy.input_view(), delta);
        for (TileBox<T>* x : {&dq, &dk, &dv}) x->fill([](int64_t, int64_t) { return 0.5; });
        // Heads in two parts, the last one first.
        const int64_t n_head = data.size.heads.n_head;
        for (const HeadRange range : {HeadRange{n_head / 2, n_head}, HeadRange{0, n_head / 2}})
            data.run_backward(queue, range, dy, log_sum, delta, dq.view(), dk.view(), dv.view());
    }

    TileBox<T> y, dy, log_sum, delta, dq, dk, dv;
};

/// Gradients came on top of 0.5.
void take_away_start(TileBox<double>& x) {
    for (int64_t c = 0; c < x.view().shape[0]; ++c)
        for (int64_t i = 0; i < x.view().shape[1]; ++i) x.view()(c, i) -= 0.5;
}

TEST(SelectedBackwardReference, AgreesWithFiniteDifferences) {
    auto random = generator();
    for (const SelectedCase& size : selected_cases) {
        if (size.n_query == 0) continue;
        SelectedData<double> data(size, random);
        Gradients<double> g(size);
        g.dy.fill_normal(random);
        g.run(data, Queue());
        for (TileBox<double>* x : {&g.dq, &g.dk, &g.dv}) take_away_start(*x);
        TileBox<double> y(TileBox<double>::output, size.heads.n_value_channel(), size.n_query);
        const auto loss = [&] {
            data.run(Queue(), y.view(), {});
            return inner_product(g.dy.input_view(), y.view());
        };
        const auto expect_rows = [&](const char* what, Tile<double> values, Tile<double> gradient) {
            for (int64_t c = 0; c < values.shape[0]; ++c)
                expect_slopes(what, &values(c, 0), &gradient(c, 0), values.shape[1], loss, 1e-9);
        };
        expect_rows("q", data.q.view(), g.dq.view());
        expect_rows("k", data.k.view(), g.dk.view());
        expect_rows("v", data.v.view(), g.dv.view());
    }
}

TEST_P(SelectedBackwardOn, AgreesWithTheReferenceInDouble) {
    auto random = generator();
    for (const SelectedCase& size : selected_cases) {
        SelectedData<float> data(size, random);
        const SelectedData<double> exact(data, random);
        Gradients<float> got(size);
        Gradients<double> want(size);
        got.dy.fill_normal(random);
        want.dy.fill_from(got.dy);
        got.run(data, queue());
        want.run(exact, Queue());
        for (const TileBox<float>* x : {&got.dq, &got.dk, &got.dv})
            x->expect_kept_inside("a gradient");
        // Sums of l n_choice keys or of all queries; factors of size 10 at most, scores of size 10.
        const double n = static_cast<double>(size.l * size.n_choice + size.n_query);
        const double bound = 8 * epsilon<float> * 10 * (10 + std::sqrt(n));
        expect_close<float>(got.dq.view(), want.dq.view(), bound);
        expect_close<float>(got.dk.view(), want.dk.view(), bound);
        expect_close<float>(got.dv.view(), want.dv.view(), bound);
    }
}

TEST_P(SelectedBackwardOn, ComputesQueriesAndKeysApart) {
    auto random = generator();
    for (const SelectedCase& size : selected_cases) {
        SelectedData<float> data(size, random);
        Gradients<float> want(size), got(size);
        want.dy.fill_normal(random);
        got.dy.fill_from(want.dy);
        want.run(data, queue());
        got.run(data, queue());
        for (TileBox<float>* x : {&got.dq, &got.dk, &got.dv})
            x->fill([](int64_t, int64_t) { return 0.5; });
        const HeadRange all{0, size.heads.n_head};
        data.run_backward(queue(), all, got.dy, got.log_sum, got.delta, got.dq.view(), {}, {});
        data.run_backward(queue(), all, got.dy, got.log_sum, got.delta, {}, got.dk.view(),
                          got.dv.view());
        expect_same_bits<float>(got.dq.view(), want.dq.view());
        expect_same_bits<float>(got.dk.view(), want.dk.view());
        expect_same_bits<float>(got.dv.view(), want.dv.view());
    }
}

TEST(SelectedBackwardLevels, GiveTheSameBits) {
    auto random = generator();
    for (const SelectedCase& size : selected_cases) {
        SelectedData<float> data(size, random);
        Gradients<float> want(size), got(size);
        want.dy.fill_normal(random);
        got.dy.fill_from(want.dy);
        want.run(data, Queue(Backend::simd, VectorLevel::scalar, 1));
        for (VectorLevel level : wide_levels()) {
            got.run(data, Queue(Backend::simd, level, 1));
            expect_same_bits<float>(got.dq.view(), want.dq.view());
            expect_same_bits<float>(got.dk.view(), want.dk.view());
            expect_same_bits<float>(got.dv.view(), want.dv.view());
        }
    }
}

}  // namespace
}  // namespace surrogate::kernels::bsa::test
