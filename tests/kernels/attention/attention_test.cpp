// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/attention.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/kernels/base/tile_box.hpp"

namespace surrogate::kernels::test {
namespace {

class AttentionOn : public OnTarget {};
SURROGATE_ON_ALL_TARGETS(AttentionOn);

/// Keys of some rows, each with its quadrature weight.
struct Row {
    Row(const Heads& heads, int64_t n_key, double w, std::mt19937& random, double key_size = 1)
        : k(TileBox<double>::input, heads.n_key_channel(), n_key),
          v(TileBox<double>::input, heads.n_value_channel(), n_key),
          weight(static_cast<float>(w)) {
        k.fill_normal(random, key_size);
        v.fill_normal(random);
    }
    TileBox<double> k, v;
    double weight;
};

struct Problem {
    Problem(Heads sizes, int64_t n_query, std::mt19937& random, double score_size = 3)
        : heads(sizes), q(TileBox<double>::input, sizes.n_key_channel(), n_query) {
        q.fill_normal(random, static_cast<float>(score_size / std::sqrt(sizes.n_key_dim)));
    }
    int64_t n_query() const { return q.input_view().shape[1]; }

    double score(int64_t h, int64_t i, const Row& row, int64_t j) const {
        double sum = 0;
        for (int64_t c = h * heads.n_key_dim; c < (h + 1) * heads.n_key_dim; ++c)
            sum += q.input_view()(c, i) * row.k.input_view()(c, j);
        return sum;
    }

    /// The formula in double, on all keys; `size` becomes the largest |score|.
    void answer(Tile<double> y, double& size) const {
        const int64_t e = heads.n_value_dim;
        size = 0;
        for (int64_t h = 0; h < heads.n_head; ++h) {
            for (int64_t i = 0; i < n_query(); ++i) {
                double maximum = -1e300, sum = 0;
                for_keys([&](const Row& row, int64_t j) {
                    maximum = std::max(maximum, score(h, i, row, j));
                    size = std::max(size, std::abs(score(h, i, row, j)));
                });
                for (int64_t c = h * e; c < (h + 1) * e; ++c) y(c, i) = 0;
                for_keys([&](const Row& row, int64_t j) {
                    const double share = row.weight * std::exp2(score(h, i, row, j) - maximum);
                    sum += share;
                    for (int64_t c = h * e; c < (h + 1) * e; ++c)
                        y(c, i) += share * row.v.input_view()(c, j);
                });
                for (int64_t c = h * e; c < (h + 1) * e; ++c) y(c, i) /= sum;
            }
        }
    }
    template <class Body>
    void for_keys(const Body& body) const {
        for (const Row& row : rows) {
            if (row.weight == 0) continue;
            for (int64_t j = 0; j < row.k.input_view().shape[1]; ++j) body(row, j);
        }
    }

    template <class T>
    void run(const Queue& queue, Tile<T> y) const {
        Buffer<T> data(SoftmaxState<T>::size(heads)), scratch(attend_scratch(heads));
        const SoftmaxState<T> state{heads, data.data()};
        TileBox<T> queries(TileBox<T>::input, heads.n_key_channel(), n_query(), {1, 3});
        queries.fill_from(q);
        std::vector<TileBox<T>> keys, values;
        for (const Row& row : rows) {
            const int64_t n_key = row.k.input_view().shape[1];
            keys.emplace_back(TileBox<T>::input, heads.n_key_channel(), n_key, Layout{0, 5});
            values.emplace_back(TileBox<T>::input, heads.n_value_channel(), n_key, Layout{2, 1});
            keys.back().fill_from(row.k);
            values.back().fill_from(row.v);
        }
        Traps traps;
        reset(state);
        for (size_t r = 0; r < rows.size(); ++r)
            attend<T>(queue, heads, queries.input_view(), keys[r].input_view(),
                      values[r].input_view(), static_cast<T>(rows[r].weight), {}, scratch.data(),
                      state);
        finish<T>(queue, state, y);
    }

    Heads heads;
    TileBox<double> q;
    std::vector<Row> rows;
};

template <class T>
void expect_answer(const Problem& p, Tile<const T> y, double eps) {
    TileBox<double> want(TileBox<double>::output, p.heads.n_value_channel(), p.n_query());
    double size = 0, n = 0;
    p.answer(want.view(), size);
    p.for_keys([&](const Row&, int64_t) { ++n; });
    const double d = static_cast<double>(p.heads.n_key_dim);
    expect_close<T>(y, want.view(), 8 * eps * (std::sqrt(n) + std::sqrt(d) * size));
}

const std::vector<Heads> head_sizes = {{1, 1, 1},   {1, 7, 13},  {2, 3, 5},    {4, 8, 8},
                                       {3, 16, 17}, {1, 64, 32}, {1, 128, 128}};

Problem some_problem(const Heads& heads, int64_t n_query, std::mt19937& random) {
    Problem p(heads, n_query, random);
    const int64_t n_keys[] = {1, 20, 0, 131, 257};
    for (int64_t n : n_keys)
        p.rows.emplace_back(heads, n, 1e-3 * static_cast<double>(n + 1), random);
    p.rows[1].weight = 0;
    return p;
}

TEST(AttentionReference, AgreesWithTheFormulaInDouble) {
    auto random = generator();
    for (const Heads& heads : head_sizes) {
        const Problem p = some_problem(heads, 5, random);
        TileBox<double> y(TileBox<double>::output, heads.n_value_channel(), 5);
        p.run(Queue(Backend::ref, VectorLevel::scalar, 1), y.view());
        expect_answer<double>(p, y.view(), epsilon<double>);
    }
}

TEST_P(AttentionOn, AgreesWithDoubleOnAwkwardSizes) {
    auto random = generator();
    for (int64_t n_query : {1, 15, 33, 64}) {
        for (const Heads& heads : head_sizes) {
            const Problem p = some_problem(heads, n_query, random);
            TileBox<float> y(TileBox<float>::output, heads.n_value_channel(), n_query);
            p.run(queue(), y.view());
            y.expect_kept_inside("y");
            expect_answer<float>(p, y.view(), epsilon<float>);
        }
    }
}

TEST_P(AttentionOn, ScoresOfTrainedNetworksAndMoreAreHarmless) {
    auto random = generator();
    for (double size : {100.0, 288.0, 4000.0}) {  // 288: logits of +-200
        Problem p({2, 16, 5}, 17, random, size);
        for (int64_t n : {40, 1, 130}) p.rows.emplace_back(p.heads, n, 1e-4, random);
        TileBox<float> y(TileBox<float>::output, 10, 17);
        p.run(queue(), y.view());
        expect_answer<float>(p, y.view(), epsilon<float>);
    }
}

TEST_P(AttentionOn, RisingAndFallingMaximaAgree) {
    auto random = generator();
    for (bool rises : {true, false}) {
        Problem p({1, 4, 3}, 20, random);
        for (int step = 0; step < 6; ++step) {
            const double size = std::pow(10.0, rises ? step - 2 : 3 - step);
            p.rows.emplace_back(p.heads, 20, 0.01, random, size);
        }
        TileBox<float> y(TileBox<float>::output, 3, 20);
        p.run(queue(), y.view());
        expect_answer<float>(p, y.view(), epsilon<float>);
    }
}

TEST_P(AttentionOn, HugeScoresChooseTheLargest) {
    auto random = generator();
    Problem p({1, 3, 4}, 20, random, 1e30);
    for (int64_t n : {7, 130, 20}) p.rows.emplace_back(p.heads, n, 1e-3, random);
    TileBox<float> y(TileBox<float>::output, 4, 20);
    TileBox<double> want(TileBox<double>::output, 4, 20);
    p.run(queue(), y.view());
    double size = 0;
    p.answer(want.view(), size);
    expect_close<float>(y.view(), want.view(), 1e-5);
}

TEST_P(AttentionOn, ZeroWeightsAddNothingToTheBit) {
    auto random = generator();
    Problem p({2, 5, 3}, 33, random);
    for (int64_t n : {40, 70}) p.rows.emplace_back(p.heads, n, 0.3, random);
    TileBox<float> want(TileBox<float>::output, 6, 33), y(TileBox<float>::output, 6, 33);
    p.run(queue(), want.view());
    // Far larger scores in the middle and at both ends, of weight 0.
    for (int64_t at : {0, 2, 4})
        p.rows.insert(p.rows.begin() + at, Row(p.heads, 50, 0, random, 1e4));
    p.run(queue(), y.view());
    expect_same_bits<float>(y.view(), want.view());
}

TEST_P(AttentionOn, ConstantValuesComeOutAsTheyAre) {
    auto random = generator();
    Problem p({2, 5, 3}, 33, random, 30);
    for (int64_t n : {40, 300, 17}) p.rows.emplace_back(p.heads, n, 0.3, random);
    for (Row& row : p.rows) row.v.fill([](int64_t, int64_t) { return 2.5; });
    TileBox<float> y(TileBox<float>::output, 6, 33);
    p.run(queue(), y.view());
    for (int64_t c = 0; c < 6; ++c)
        for (int64_t i = 0; i < 33; ++i)
            ASSERT_NEAR(y.view()(c, i), 2.5, 2.5 * 20 * epsilon<float>);
}

TEST_P(AttentionOn, TheWeightOfARowCounts) {
    // Two keys with equal scores: the average is that of the weights.
    const Heads heads{1, 1, 1};
    Buffer<float> data(SoftmaxState<float>::size(heads)), scratch(attend_scratch(heads));
    const SoftmaxState<float> state{heads, data.data()};
    TileBox<float> one(TileBox<float>::input, 1, 1), four(TileBox<float>::input, 1, 1);
    TileBox<float> y(TileBox<float>::output, 1, 1);
    one.fill([](int64_t, int64_t) { return 1; });
    four.fill([](int64_t, int64_t) { return 4; });
    reset(state);
    attend<float>(queue(), heads, one.input_view(), one.input_view(), one.input_view(), 3.0f, {},
                  scratch.data(), state);
    attend<float>(queue(), heads, one.input_view(), one.input_view(), four.input_view(), 1.0f, {},
                  scratch.data(), state);
    finish<float>(queue(), state, y.view());
    EXPECT_NEAR(y.view()(0, 0), 1.75, 1e-6);
}

TEST_P(AttentionOn, NaNInAKeyReachesEveryQueryOfItsHead) {
    const Heads heads{2, 2, 2};
    Buffer<float> data(SoftmaxState<float>::size(heads)), scratch(attend_scratch(heads));
    const SoftmaxState<float> state{heads, data.data()};
    TileBox<float> x(TileBox<float>::input, 4, 18), k(TileBox<float>::input, 4, 18);
    TileBox<float> y(TileBox<float>::output, 4, 18);
    auto random = generator();
    x.fill_normal(random);
    const uint32_t payload = 0x7fffffff;  // the exponential alone would make a number of it
    float nan = 0;
    std::memcpy(&nan, &payload, sizeof nan);
    k.fill([&](int64_t c, int64_t i) { return c == 3 && i == 11 ? nan : 0.5f; });
    reset(state);
    attend<float>(queue(), heads, x.input_view(), k.input_view(), x.input_view(), 1.0f, {},
                  scratch.data(), state);
    finish<float>(queue(), state, y.view());
    for (int64_t i = 0; i < 18; ++i) {
        EXPECT_FALSE(std::isnan(y.view()(1, i)));
        EXPECT_TRUE(std::isnan(y.view()(2, i)));
    }
}

TEST(AttentionLevels, GiveTheSameBits) {
    auto random = generator();
    for (const Heads& heads : head_sizes) {
        const Problem p = some_problem(heads, 37, random);
        TileBox<float> want(TileBox<float>::output, heads.n_value_channel(), 37),
            y(TileBox<float>::output, heads.n_value_channel(), 37);
        p.run(Queue(Backend::simd, VectorLevel::scalar, 1), want.view());
        for (VectorLevel level : wide_levels()) {
            p.run(Queue(Backend::simd, level, 1), y.view());
            expect_same_bits<float>(y.view(), want.view());
        }
    }
}

}  // namespace
}  // namespace surrogate::kernels::test
