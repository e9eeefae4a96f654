// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "tests/kernels/attention/attention_problem.hpp"
#include "tests/kernels/base/reference_queue.hpp"

namespace surrogate::kernels::test {
namespace {

class AttentionOn : public OnTarget {};
SURROGATE_ON_ALL_TARGETS(AttentionOn);

const std::vector<Heads> head_sizes = {{1, 1, 1},  {1, 7, 13},  {2, 3, 5},
                                       {8, 8, 8},  {2, 24, 8},  {3, 16, 17},
                                       {1, 8, 24}, {1, 64, 32}, {1, 128, 128}};

Problem some_problem(const Heads& heads, int64_t n_query, bool is_biased, std::mt19937& random) {
    Problem p(heads, n_query, random);
    if (is_biased) p.add_bias();
    for (int64_t n : {1, 20, 0, 131, 257}) p.add_row(n, 1e-3 * static_cast<double>(n + 1), random);
    p.rows[1].weight = 0;
    return p;
}

TEST(AttentionReference, AgreesWithTheFormulaInDouble) {
    auto random = generator();
    for (bool is_biased : {false, true}) {
        for (const Heads& heads : head_sizes) {
            const Problem p = some_problem(heads, 5, is_biased, random);
            expect_answer(p, run<double>(p, reference));
        }
    }
}

TEST(AttentionReference, GivesNumbersOfTheFormula) {
    // Scores 1 and 3 of one query, values 10 and 20: weights 1/5 and 4/5.
    auto random = generator();
    Problem p({1, 1, 1}, 1, random);
    p.q.fill([](int64_t, int64_t) { return 2; });
    p.add_bias();
    p.factor = {-0.5};
    p.add_row(2, 1, random);
    p.rows[0].k.fill([](int64_t, int64_t j) { return j == 0 ? 1 : 2; });
    p.rows[0].v.fill([](int64_t, int64_t j) { return j == 0 ? 10 : 20; });
    p.rows[0].distance.fill([](int64_t, int64_t) { return 2; });
    const Answer<double> got = run<double>(p, reference);
    EXPECT_NEAR(got.y.input_view()(0, 0), 18, 1e-14);
    EXPECT_NEAR(got.log_sum.input_view()(0, 0), 3 + std::log2(1.25), 1e-15);
}

TEST_P(AttentionOn, AgreesWithDoubleOnAwkwardSizes) {
    auto random = generator();
    for (int64_t n_query : {1, 3, 15, 16, 17, 33, 63, 64}) {
        for (const Heads& heads : head_sizes) {
            if (n_query % 3 != 0 && heads.n_key_dim > 24) continue;
            const Problem p = some_problem(heads, n_query, n_query % 2 == 0, random);
            expect_answer(p, run<float>(p, queue()));
        }
    }
}

TEST_P(AttentionOn, AgreesWithDoubleForAnyNumberOfKeys) {
    auto random = generator();
    for (int64_t n_key = 1; n_key <= 300; n_key += n_key < 20 ? 1 : 7) {
        for (bool is_biased : {false, true}) {
            Problem p({2, 8, 8}, 17, random);
            if (is_biased) p.add_bias();
            p.add_row(n_key, 1, random);
            expect_answer(p, run<float>(p, queue()));
        }
    }
}

TEST_P(AttentionOn, AnySplitOfKeysAgrees) {
    auto random = generator();
    const Problem p = some_problem({2, 8, 5}, 33, true, random);
    for (int64_t n_a_call : {16, 48, 128, 256}) expect_answer(p, run<float>(p, queue(), n_a_call));
}

TEST_P(AttentionOn, ABiasOfZeroChangesNoBit) {
    auto random = generator();
    Problem p = some_problem({3, 5, 8}, 20, false, random);
    const Answer<float> want = run<float>(p, queue());
    p.factor.assign(3, 0);
    expect_same_bits(run<float>(p, queue()), want);
}

TEST_P(AttentionOn, QueriesWithoutKeysGiveZeros) {
    auto random = generator();
    Problem p({2, 3, 5}, 18, random);
    for (double weight : {1, 0}) {
        p.add_row(weight == 0 ? 30 : 0, weight, random);
        const Answer<float> got = run<float>(p, queue());
        for (int64_t i = 0; i < 18; ++i) {
            for (int64_t c = 0; c < 10; ++c) ASSERT_EQ(got.y.input_view()(c, i), 0);
            ASSERT_LT(got.log_sum.input_view()(1, i), -1e38f);
        }
    }
}

TEST_P(AttentionOn, ScoresOfTrainedNetworksAndMoreAreHarmless) {
    auto random = generator();
    for (double size : {100.0, 288.0, 4000.0}) {  // 288: logits of +-200
        Problem p({2, 16, 5}, 17, random, size);
        for (int64_t n : {40, 1, 130}) p.add_row(n, 1e-4, random);
        expect_answer(p, run<float>(p, queue()));
    }
}

TEST_P(AttentionOn, RisingAndFallingMaximaAgree) {
    auto random = generator();
    for (bool rises : {true, false}) {
        Problem p({1, 4, 3}, 20, random);
        for (int step = 0; step < 6; ++step)
            p.add_row(20, 0.01, random, std::pow(10.0, rises ? step - 2 : 3 - step));
        expect_answer(p, run<float>(p, queue()));
    }
}

TEST_P(AttentionOn, HugeScoresChooseTheLargest) {
    auto random = generator();
    Problem p({1, 3, 4}, 20, random, 1e30);
    for (int64_t n : {7, 130, 20}) p.add_row(n, 1e-3, random);
    Answer<double> want(p);
    p.answer(want.y.view(), want.log_sum.view());
    expect_close<float>(run<float>(p, queue()).y.input_view(), want.y.view(), 1e-5);
}

TEST_P(AttentionOn, ZeroWeightsAddNothingToTheBit) {
    auto random = generator();
    Problem p({2, 5, 3}, 33, random);
    for (int64_t n : {40, 70}) p.add_row(n, 0.3, random);
    const Answer<float> want = run<float>(p, queue());
    // Far larger scores in the middle and at both ends, of weight 0.
    for (int64_t at : {0, 2, 4})
        p.rows.insert(p.rows.begin() + at, Row(p.heads, 33, 50, 0, random, 1e4));
    expect_same_bits(run<float>(p, queue()), want);
}

TEST_P(AttentionOn, ConstantValuesComeOutAsTheyAre) {
    auto random = generator();
    Problem p({2, 5, 3}, 33, random, 30);
    for (int64_t n : {40, 300, 17}) p.add_row(n, 0.3, random);
    for (Row& row : p.rows) row.v.fill([](int64_t, int64_t) { return 2.5; });
    const Answer<float> got = run<float>(p, queue());
    for (int64_t c = 0; c < 6; ++c)
        for (int64_t i = 0; i < 33; ++i)
            ASSERT_NEAR(got.y.input_view()(c, i), 2.5, 2.5 * 20 * epsilon<float>);
}

TEST_P(AttentionOn, TheWeightOfARowCounts) {
    // Two keys with equal scores: the average is the average of the weights.
    auto random = generator();
    Problem p({1, 1, 1}, 1, random);
    p.add_row(1, 3, random);
    p.add_row(1, 1, random);
    p.rows[1].k.fill([&](int64_t, int64_t) { return p.rows[0].k.input_view()(0, 0); });
    p.rows[0].v.fill([](int64_t, int64_t) { return 1; });
    p.rows[1].v.fill([](int64_t, int64_t) { return 4; });
    EXPECT_NEAR(run<float>(p, queue()).y.input_view()(0, 0), 1.75, 1e-6);
}

TEST_P(AttentionOn, NaNInAKeyReachesEveryQueryOfItsHead) {
    const Heads heads{2, 2, 2};
    Buffer<float> data(SoftmaxState<float>::size(heads)), scratch(attend_scratch(heads));
    const SoftmaxState<float> state{heads, data.data()};
    TileBox<float> x(TileBox<float>::input, 4, 18), k(TileBox<float>::input, 4, 18);
    TileBox<float> y(TileBox<float>::output, 4, 18), log_sum(TileBox<float>::output, 2, 18);
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
    log_sums<float>(queue(), state, log_sum.view());
    for (int64_t i = 0; i < 18; ++i) {
        EXPECT_FALSE(std::isnan(y.view()(1, i)));
        EXPECT_TRUE(std::isnan(y.view()(2, i)));
        EXPECT_FALSE(std::isnan(log_sum.view()(0, i)));
        EXPECT_TRUE(std::isnan(log_sum.view()(1, i)));
    }
}

/// One query whose score of one key is infinite. To the reference -infinity is a weight of 0.
TEST_P(AttentionOn, ScoresThatOverflowAreNaN) {
    const Heads heads{1, 2, 1};
    for (const float sign : {1.0f, -1.0f}) {
        Buffer<float> data(SoftmaxState<float>::size(heads)), scratch(attend_scratch(heads));
        const SoftmaxState<float> state{heads, data.data()};
        TileBox<float> q(TileBox<float>::input, 2, 3), k(TileBox<float>::input, 2, 20);
        TileBox<float> v(TileBox<float>::input, 1, 20), y(TileBox<float>::output, 1, 3);
        q.fill([](int64_t, int64_t i) { return i == 1 ? 1e30f : 1.0f; });
        k.fill([&](int64_t, int64_t j) { return j == 7 ? sign * 1e9f : 1e-9f; });
        v.fill([](int64_t, int64_t j) { return j; });
        reset(state);
        attend<float>(queue(), heads, q.input_view(), k.input_view(), v.input_view(), 1.0f, {},
                      scratch.data(), state);
        finish<float>(queue(), state, y.view());
        EXPECT_FALSE(std::isnan(y.view()(0, 0)));
        const bool is_weightless = GetParam().backend == Backend::ref && sign < 0;
        EXPECT_EQ(std::isnan(y.view()(0, 1)), !is_weightless) << sign;
        EXPECT_FALSE(std::isnan(y.view()(0, 2)));
    }
}

TEST_P(AttentionOn, NaNInADistanceReachesItsQuery) {
    const Heads heads{2, 1, 1};
    Buffer<float> data(SoftmaxState<float>::size(heads)), scratch(attend_scratch(heads));
    const SoftmaxState<float> state{heads, data.data()};
    TileBox<float> x(TileBox<float>::input, 2, 18), distance(TileBox<float>::input, 18, 18);
    TileBox<float> y(TileBox<float>::output, 2, 18);
    auto random = generator();
    x.fill_normal(random);
    distance.fill([](int64_t j, int64_t i) {
        return j == 4 && i == 11 ? std::numeric_limits<float>::quiet_NaN() : 0.5f;
    });
    const float factor[] = {-1, 2};
    reset(state);
    attend<float>(queue(), heads, x.input_view(), x.input_view(), x.input_view(), 1.0f,
                  {factor, distance.input_view()}, scratch.data(), state);
    finish<float>(queue(), state, y.view());
    for (int64_t i = 0; i < 18; ++i) EXPECT_EQ(std::isnan(y.view()(1, i)), i == 11) << i;
}

TEST(AttentionLevels, SplitsAtMultiplesOf128GiveTheSameBits) {
    auto random = generator();
    Problem p({2, 8, 5}, 33, random);
    p.add_bias();
    p.add_row(300, 1, random);
    const auto want = run<float>(p, Queue(Backend::simd, VectorLevel::scalar, 1));
    for (VectorLevel level : wide_levels())
        for (int64_t n_a_call : {128, 256})
            expect_same_bits(run<float>(p, Queue(Backend::simd, level, 1), n_a_call), want);
}

TEST(AttentionLevels, GiveTheSameBits) {
    auto random = generator();
    for (bool is_biased : {false, true}) {
        for (const Heads& heads : head_sizes) {
            const Problem p = some_problem(heads, 37, is_biased, random);
            const auto want = run<float>(p, Queue(Backend::simd, VectorLevel::scalar, 1));
            for (VectorLevel level : wide_levels())
                expect_same_bits(run<float>(p, Queue(Backend::simd, level, 1)), want);
        }
    }
}

}  // namespace
}  // namespace surrogate::kernels::test
