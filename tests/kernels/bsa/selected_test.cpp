// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/kernels/bsa/selected_problem.hpp"

namespace surrogate::kernels::bsa::test {
namespace {

class SelectedOn : public OnTarget {};
SURROGATE_ON_ALL_TARGETS(SelectedOn);

/// The formula, all keys of a query at once.
void answer(const SelectedData<double>& data, Tile<double> y, Tile<double> log_sum) {
    const auto [n_head, d, e] = data.size.heads;
    const int64_t l = data.size.l, n_choice = data.size.n_choice;
    const auto q = data.q.input_view(), k = data.k.input_view(), v = data.v.input_view();
    for (int64_t i = 0; i < data.size.n_query; ++i) {
        for (int64_t h = 0; h < n_head; ++h) {
            double sum = 0;
            for (int64_t c = 0; c < e; ++c) y(h * e + c, i) = 0;
            for (int64_t j = 0; j < n_choice * l; ++j) {
                const int64_t row = (i / data.size.g * n_head + h) * n_choice + j / l;
                const int64_t slot = data.choice[static_cast<size_t>(row)] * l + j % l;
                double s = 0;
                for (int64_t c = h * d; c < (h + 1) * d; ++c) s += q(c, i) * k(c, slot);
                sum += std::exp2(s);
                for (int64_t c = h * e; c < (h + 1) * e; ++c) y(c, i) += std::exp2(s) * v(c, slot);
            }
            for (int64_t c = h * e; c < (h + 1) * e; ++c) y(c, i) /= sum;
            log_sum(h, i) = std::log2(sum);
        }
    }
}

template <class T>
void expect_answer(const SelectedCase& size, const Queue& queue, double eps, std::mt19937& random) {
    SelectedData<float> single(size, random);
    const SelectedData<double> exact(single, random);
    const SelectedData<T> data(single, random);
    const int64_t n_head = size.heads.n_head, n_channel = size.heads.n_value_channel();
    TileBox<double> want(TileBox<double>::output, n_channel, size.n_query);
    TileBox<double> want_sum(TileBox<double>::output, n_head, size.n_query);
    answer(exact, want.view(), want_sum.view());
    TileBox<T> y(TileBox<T>::output, n_channel, size.n_query, {1, 2});
    TileBox<T> log_sum(TileBox<T>::output, n_head, size.n_query, {0, 3});
    data.run(queue, y.view(), log_sum.view());
    y.expect_kept_inside("y");
    log_sum.expect_kept_inside("log_sum");
    data.k.expect_unchanged("k");
    data.q.expect_unchanged("q");
    // Scores of size 10 from d products, l n_choice weights.
    const double n = static_cast<double>(size.heads.n_key_dim + size.l * size.n_choice);
    expect_close<T>(y.view(), want.view(), 8 * eps * (10 + std::sqrt(n)));
    expect_close<T>(log_sum.view(), want_sum.view(), 8 * eps * (10 + std::sqrt(n)));
    TileBox<T> again(TileBox<T>::output, n_channel, size.n_query);
    data.run(queue, again.view(), {});
    expect_same_bits<T>(again.view(), y.view());
}

TEST_P(SelectedOn, AgreesWithTheFormulaInDouble) {
    auto random = generator();
    for (const SelectedCase& size : selected_cases)
        expect_answer<float>(size, queue(), epsilon<float>, random);
}

TEST(SelectedReference, AgreesWithTheFormulaInDouble) {
    auto random = generator();
    for (const SelectedCase& size : selected_cases)
        expect_answer<double>(size, Queue(), epsilon<double>, random);
}

TEST(SelectedLevels, GiveTheSameBits) {
    auto random = generator();
    for (const SelectedCase& size : selected_cases) {
        const SelectedData<float> data(size, random);
        const int64_t n_channel = size.heads.n_value_channel();
        TileBox<float> want(TileBox<float>::output, n_channel, size.n_query),
            y(TileBox<float>::output, n_channel, size.n_query);
        TileBox<float> want_sum(TileBox<float>::output, size.heads.n_head, size.n_query),
            log_sum(TileBox<float>::output, size.heads.n_head, size.n_query);
        data.run(Queue(Backend::simd, VectorLevel::scalar, 1), want.view(), want_sum.view());
        for (VectorLevel level : wide_levels()) {
            data.run(Queue(Backend::simd, level, 1), y.view(), log_sum.view());
            expect_same_bits<float>(y.view(), want.view());
            expect_same_bits<float>(log_sum.view(), want_sum.view());
        }
    }
}

TEST_P(SelectedOn, AGroupDoesNotSeeItsPlaceInTheTile) {
    auto random = generator();
    const SelectedCase size{{2, 8, 8}, 64, 8, 8, 4, 9}, part{{2, 8, 8}, 8, 8, 8, 4, 9};
    const SelectedData<float> data(size, random);
    TileBox<float> y(TileBox<float>::output, 16, 64), some(TileBox<float>::output, 16, 8);
    data.run(queue(), y.view(), {});
    for (int64_t group = 0; group < 8; ++group) {
        SelectedData<float> one(part, random);
        one.q.fill([&](int64_t c, int64_t i) { return data.q.input_view()(c, group * 8 + i); });
        one.k.fill_from(data.k);
        one.v.fill_from(data.v);
        one.choice.assign(data.choice.begin() + group * 8, data.choice.begin() + group * 8 + 8);
        one.run(queue(), some.view(), {});
        for (int64_t c = 0; c < 16; ++c)
            for (int64_t i = 0; i < 8; ++i)
                ASSERT_EQ(some.view()(c, i), y.view()(c, group * 8 + i));
    }
}

TEST_P(SelectedOn, ScoresOfAnySizeGiveAverages) {
    auto random = generator();
    for (double scale : {1e-30, 1e3, 1e12, 1e17}) {
        SelectedData<float> data({{2, 8, 8}, 16, 8, 8, 3, 5}, random);
        data.q.fill_normal(random, scale);
        data.k.fill_normal(random, scale);
        data.v.fill([](int64_t c, int64_t) { return 2.5f * static_cast<float>(c); });
        TileBox<float> y(TileBox<float>::output, 16, 16);
        data.run(queue(), y.view(), {});
        for (int64_t c = 0; c < 16; ++c)
            for (int64_t i = 0; i < 16; ++i)
                ASSERT_NEAR(y.view()(c, i), 2.5 * static_cast<double>(c), 1e-5 * (1.0 + 2.5 * 16));
    }
}

TEST_P(SelectedOn, NaNInAKeyReachesTheGroupsThatChoseItsBlock) {
    auto random = generator();
    SelectedData<float> data({{2, 4, 4}, 32, 4, 4, 2, 6}, random);
    const uint32_t payload = 0x7fffffff;  // the exponential alone would make a number of it
    float nan = 0;
    std::memcpy(&nan, &payload, sizeof nan);
    data.k.view()(6, 3 * 4 + 1) = nan;  // head 1, block 3
    TileBox<float> y(TileBox<float>::output, 8, 32);
    Buffer<float> scratch(attend_blocks_scratch(data.size.heads, 4, 2));
    const auto list = data.blocks<const float>(data.k.input_view(), data.v.input_view());
    attend_blocks<float>(queue(), data.size.heads, data.q.input_view(), {list, 4, 4, 2},
                         scratch.data(), y.view(), {});
    int64_t n_seen = 0;
    for (int64_t i = 0; i < 32; ++i) {
        const auto row = data.choice.begin() + (i / 4 * 2 + 1) * 2;
        const bool is_seen = std::find(row, row + 2, 3) != row + 2;
        n_seen += is_seen;
        EXPECT_FALSE(std::isnan(y.view()(3, i)));
        EXPECT_EQ(std::isnan(y.view()(4, i)), is_seen) << "query " << i;
    }
    EXPECT_GT(n_seen, 0);
    EXPECT_LT(n_seen, 32);
}

}  // namespace
}  // namespace surrogate::kernels::bsa::test
