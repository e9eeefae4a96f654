// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/attention/attention_problem.hpp"
#include "tests/kernels/base/reference_queue.hpp"
#include "tests/kernels/base/slope.hpp"

namespace surrogate::kernels::test {
namespace {

class AttentionBackwardOn : public OnTarget {};
SURROGATE_ON_ALL_TARGETS(AttentionBackwardOn);

/// A problem with one row of keys, and perhaps one more whose gradients are not requested, and the
/// gradient of its result.
struct Step {
    Step(const Heads& heads, int64_t n_query, int64_t n_key, bool is_biased, std::mt19937& random,
         double score_size = 3, double weight = 1, int64_t n_more = 0)
        : problem(heads, n_query, random, score_size),
          dy(TileBox<double>::input, heads.n_value_channel(), n_query) {
        if (is_biased) problem.add_bias();
        problem.add_row(n_key, weight, random);
        if (n_more > 0) problem.add_row(n_more, 0.25, random);
        dy.fill_normal(random);
    }
    const Row& row() const { return problem.rows[0]; }

    Problem problem;
    TileBox<double> dy;
};

/// Gradients, which backward adds to what is there: `before`.
template <class T>
struct Gradients {
    static constexpr double before = 0.5;

    explicit Gradients(const Step& step)
        : dq(TileBox<T>::input, step.problem.heads.n_key_channel(), step.problem.n_query(), {0, 2}),
          dk(TileBox<T>::input, step.problem.heads.n_key_channel(), step.row().n_key(), {1, 0}),
          dv(TileBox<T>::input, step.problem.heads.n_value_channel(), step.row().n_key(), {0, 9}),
          dfactor(static_cast<size_t>(step.problem.heads.n_head), before) {
        for (TileBox<T>* box : {&dq, &dk, &dv}) box->fill([](int64_t, int64_t) { return before; });
    }
    void expect_kept_inside() const {
        dq.expect_kept_inside("dq");
        dk.expect_kept_inside("dk");
        dv.expect_kept_inside("dv");
    }
    TileBox<T> dq, dk, dv;
    std::vector<double> dfactor;
};

/// Results of the forward pass that the backward pass needs.
template <class T>
class Backward {
public:
    Backward(const Step& step, const Queue& queue)
        : queue_(queue),
          heads_(step.problem.heads),
          memory_(step.row()),
          weight_(static_cast<T>(step.row().weight)),
          q_(TileBox<T>::input, heads_.n_key_channel(), step.problem.n_query(), {2, 1}),
          dy_(TileBox<T>::input, heads_.n_value_channel(), step.problem.n_query(), {0, 5}),
          delta_(TileBox<T>::output, heads_.n_head, step.problem.n_query(), {0, 1}),
          across_(TileBox<T>::input, step.problem.n_query(), step.row().n_key(), {1, 2}),
          answer_(run<T>(step.problem, queue)),
          factor_(step.problem.factor.begin(), step.problem.factor.end()),
          scratch_(attend_scratch(heads_)) {
        q_.fill_from(step.problem.q);
        dy_.fill_from(step.dy);
        across_.fill([&](int64_t i, int64_t j) { return memory_.distance.input_view()(j, i); });
        Traps traps;
        attend_delta<T>(queue, heads_, answer_.y.input_view(), dy_.input_view(), delta_.view());
    }

    /// Keys in calls of n_a_call for the queries; in tiles for themselves.
    void run_all(Gradients<T>& to, int64_t n_a_call = 1000) {
        Traps traps;
        const Tile<const T> k = memory_.k.input_view(), v = memory_.v.input_view();
        const AttendGradient<T> of{q_.input_view(), dy_.input_view(), answer_.log_sum.input_view(),
                                   delta_.input_view(), weight_};
        const int64_t n_key = k.shape[1];
        for (int64_t first = 0; first < n_key; first += n_a_call) {
            const int64_t count = std::min(n_a_call, n_key - first);
            attend_backward_queries<T>(
                queue_, heads_, of, points(k, first, count), points(v, first, count),
                bias(channels(memory_.distance.input_view(), first, count)), scratch_.data(),
                to.dq.view(), factor_.empty() ? nullptr : to.dfactor.data());
        }
        for (int64_t first = 0; first < n_key; first += tile_points) {
            const int64_t count = std::min(tile_points, n_key - first);
            attend_backward_keys<T>(
                queue_, heads_, of, points(k, first, count), points(v, first, count),
                bias(points(across_.input_view(), first, count)), scratch_.data(),
                points(to.dk.view(), first, count), points(to.dv.view(), first, count));
        }
    }

private:
    DistanceBias<T> bias(Tile<const T> distance) const {
        if (factor_.empty()) return {};
        return {factor_.data(), distance};
    }

    Queue queue_;
    Heads heads_;
    RowMemory<T> memory_;
    T weight_;
    TileBox<T> q_, dy_, delta_, across_;
    Answer<T> answer_;
    std::vector<T> factor_;
    Buffer<T> scratch_;
};

template <class T>
Gradients<T> gradients(const Step& step, const Queue& queue, int64_t n_a_call = 1000) {
    Gradients<T> to(step);
    Backward<T>(step, queue).run_all(to, n_a_call);
    to.expect_kept_inside();
    return to;
}

double largest(Tile<const double> x) {
    double size = 0;
    for (int64_t c = 0; c < x.shape[0]; ++c)
        for (int64_t i = 0; i < x.shape[1]; ++i) size = std::max(size, std::abs(x(c, i)));
    return size;
}

/// Terms of a sum are as large as scores times weights; errors of a probability are as large as the
/// errors of its score, of size `score`.
double bound(const Step& step, Tile<const double> want, double score_size) {
    const double n = static_cast<double>(step.row().n_key() + step.problem.n_query());
    const double d = static_cast<double>(step.problem.heads.n_key_dim);
    return 8 * epsilon<float> * (std::sqrt(n) + std::sqrt(d) * score_size) *
           std::max(1.0, largest(want));
}

void expect_gradients(const Step& step, const Gradients<float>& got, double score_size = 12) {
    const Gradients<double> want = gradients<double>(step, reference);
    const auto expect = [&](const char* name, const TileBox<float>& x, const TileBox<double>& y) {
        SCOPED_TRACE(name);
        expect_close<float>(x.input_view(), y.input_view(),
                            bound(step, y.input_view(), score_size));
    };
    expect("dq", got.dq, want.dq);
    expect("dk", got.dk, want.dk);
    expect("dv", got.dv, want.dv);
    if (step.problem.factor.empty()) return;
    for (size_t h = 0; h < want.dfactor.size(); ++h) {
        const double n = static_cast<double>(step.problem.n_query());
        EXPECT_NEAR(got.dfactor[h], want.dfactor[h],
                    n * bound(step, want.dq.input_view(), score_size));
    }
}

void expect_slopes_of_loss(double weight, int64_t n_more) {
    auto random = generator();
    for (bool is_biased : {false, true}) {
        for (const Heads& heads : {Heads{1, 1, 1}, Heads{2, 3, 5}, Heads{3, 8, 8}}) {
            for (int64_t n_key : {1, 2, 70}) {
                Step step(heads, 5, n_key, is_biased, random, 3, weight, n_more);
                const Gradients<double> got = gradients<double>(step, reference);
                const auto loss = [&] {
                    return inner_product(step.dy.input_view(),
                                         run<double>(step.problem, reference).y.input_view());
                };
                const auto expect = [&](const char* name, Tile<double> values,
                                        Tile<const double> gradient) {
                    for (int64_t c = 0; c < values.shape[0]; ++c) {
                        for (int64_t i = 0; i < values.shape[1]; i += 3)
                            ASSERT_NEAR(gradient(c, i) - Gradients<double>::before,
                                        slope(values(c, i), loss), 1e-9)
                                << name << " " << c << ", " << i;
                    }
                };
                Row& row = step.problem.rows[0];
                if (n_more == 0) expect("q", step.problem.q.view(), got.dq.input_view());
                expect("k", row.k.view(), got.dk.input_view());
                expect("v", row.v.view(), got.dv.input_view());
                for (size_t h = 0; h < step.problem.factor.size() && n_more == 0; ++h)
                    ASSERT_NEAR(got.dfactor[h] - Gradients<double>::before,
                                slope(step.problem.factor[h], loss), 1e-9);
            }
        }
    }
}

TEST(AttentionBackwardReference, AgreesWithDifferences) {
    expect_slopes_of_loss(1, 0);
}

TEST(AttentionBackwardReference, AgreesWithDifferencesForKeysOfAnyWeight) {
    expect_slopes_of_loss(0.003, 0);
    expect_slopes_of_loss(0.003, 9);
}

const std::vector<Heads> backward_head_sizes = {{1, 1, 1},   {2, 3, 5},  {8, 8, 8},    {2, 24, 8},
                                                {3, 16, 17}, {1, 8, 24}, {1, 128, 128}};

TEST_P(AttentionBackwardOn, AgreesWithDoubleOnAwkwardSizes) {
    auto random = generator();
    for (int64_t n_query : {1, 3, 15, 16, 17, 63, 64}) {
        for (const Heads& heads : backward_head_sizes) {
            if (heads.n_key_dim > 24 && n_query != 17) continue;
            const Step step(heads, n_query, n_query % 2 == 0 ? 40 : 145, n_query % 2 == 1, random);
            expect_gradients(step, gradients<float>(step, queue()));
        }
    }
}

/// Quadrature weights of rows on the sphere are small; rows beside them are not.
TEST_P(AttentionBackwardOn, AgreesWithDoubleForKeysOfAnyWeight) {
    auto random = generator();
    for (double weight : {1e-6, 0.003, 40.0}) {
        for (int64_t n_more : {0, 5}) {
            const Step step({2, 3, 5}, 17, 145, true, random, 3, weight, n_more);
            expect_gradients(step, gradients<float>(step, queue()), 30);
        }
    }
}

TEST_P(AttentionBackwardOn, KeysOfWeightZeroAddNothing) {
    auto random = generator();
    const Step step({2, 3, 5}, 17, 40, true, random, 3, 0, 5);
    const Gradients<float> got = gradients<float>(step, queue());
    for (int64_t j = 0; j < 40; ++j) {
        EXPECT_EQ(got.dk.input_view()(2, j), 0.5f);
        EXPECT_EQ(got.dv.input_view()(3, j), 0.5f);
    }
    for (int64_t i = 0; i < 17; ++i) EXPECT_EQ(got.dq.input_view()(1, i), 0.5f);
}

TEST_P(AttentionBackwardOn, AgreesWithDoubleForAnyNumberOfKeys) {
    auto random = generator();
    for (int64_t n_key : {1, 2, 3, 5, 6, 7, 8, 15, 16, 17, 31, 63, 64, 65, 127, 128, 129, 300}) {
        const Step step({2, 8, 8}, 17, n_key, true, random);
        expect_gradients(step, gradients<float>(step, queue()));
    }
}

TEST_P(AttentionBackwardOn, AnySplitOfKeysAgrees) {
    auto random = generator();
    const Step step({2, 8, 5}, 33, 200, true, random);
    for (int64_t n_a_call : {16, 48, 128})
        expect_gradients(step, gradients<float>(step, queue(), n_a_call));
}

/// If scores are far apart, the softmax selects the largest: its gradient is its value's gradient.
TEST_P(AttentionBackwardOn, HugeScoresAreHarmless) {
    auto random = generator();
    const Step step({2, 4, 4}, 20, 130, false, random, 1e30);
    const Gradients<double> want = gradients<double>(step, reference);
    const Gradients<float> got = gradients<float>(step, queue());
    expect_close<float>(got.dv.input_view(), want.dv.input_view(), 1e-5);
}

TEST_P(AttentionBackwardOn, ScoresOfTrainedNetworksAgree) {
    auto random = generator();
    const Step step({2, 8, 8}, 20, 130, true, random, 100);
    expect_gradients(step, gradients<float>(step, queue()), 400);
}

TEST_P(AttentionBackwardOn, ConstantValuesHaveNoGradientOfScores) {
    auto random = generator();
    Step step({2, 8, 4}, 20, 130, true, random);
    step.problem.rows[0].v.fill([](int64_t, int64_t) { return 1.5; });
    const Gradients<float> got = gradients<float>(step, queue());
    for (const TileBox<float>* box : {&got.dq, &got.dk}) {
        const Tile<const float> x = box->input_view();
        for (int64_t c = 0; c < x.shape[0]; ++c)
            for (int64_t i = 0; i < x.shape[1]; ++i) ASSERT_NEAR(x(c, i), 0.5, 2e-5);
    }
}

TEST(AttentionBackwardLevels, GiveTheSameBits) {
    auto random = generator();
    for (bool is_biased : {false, true}) {
        for (const Heads& heads : backward_head_sizes) {
            const Step step(heads, 37, 150, is_biased, random);
            const auto want = gradients<float>(step, Queue(Backend::simd, VectorLevel::scalar, 1));
            for (VectorLevel level : wide_levels()) {
                const auto got = gradients<float>(step, Queue(Backend::simd, level, 1));
                expect_same_bits<float>(got.dq.input_view(), want.dq.input_view());
                expect_same_bits<float>(got.dk.input_view(), want.dk.input_view());
                expect_same_bits<float>(got.dv.input_view(), want.dv.input_view());
                EXPECT_EQ(got.dfactor, want.dfactor);
            }
        }
    }
}

}  // namespace
}  // namespace surrogate::kernels::test
