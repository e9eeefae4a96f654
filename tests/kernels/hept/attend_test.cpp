// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/hept/block_problem.hpp"

namespace surrogate::kernels::hept::test {
namespace {

class HeptAttendOn : public OnTarget {};
SURROGATE_ON_ALL_TARGETS(HeptAttendOn);

/// Value c of a token, 1 behind the last.
double value(const BlockProblem<double>& p, int32_t token, int64_t c) {
    const RowShape& shape = p.size.shape;
    return c == shape.n_channel ? 1.0 : p.row(token)[shape.n_query() + shape.n_channel + c];
}

/// Sums of single precision agree with the formula in double, as well as the contract says.
void expect_sums(const BlockProblem<double>& p, const Output<float>& got) {
    const auto [d, n_coordinate] = p.size.shape;
    const double eps = 0x1p-24, tiny = 0x1p-126;
    const auto error_of = [&](double log) {
        return eps * (4 + static_cast<double>(d + n_coordinate + 6) * log);
    };
    for (size_t i = 0; i < p.queries.size(); ++i) {
        for (int64_t c = 0; c <= d; ++c) {
            double want = 0, size = 0, error = 0;
            const auto add = [&](double half, double v) {
                want += std::exp(-half) * v;
                size += std::exp(-half) * std::abs(v);
                error += (std::exp(-half) * error_of(half) + 2 * tiny) * std::abs(v);
            };
            for (const int32_t j : p.keys) add(square(p, p.queries[i], j) / 2, value(p, j, c));
            if (c == d) {
                add(square(p, p.queries[i], -1) / 2, static_cast<double>(p.size.n_zero_key));
                want += epsilon, size += epsilon;
            }
            error += eps * size * (1 + static_cast<double>(p.keys.size()));
            const float sum = got[static_cast<int64_t>(i) * (d + 1) + c];
            ASSERT_TRUE(std::abs(sum - want) <= error)
                << "query " << i << ", sum " << c << ": got " << sum << ", expected " << want
                << ", " << std::abs(sum - want) / error << " times the bound";
        }
    }
}

TEST_P(HeptAttendOn, AgreesWithTheFormulaInDouble) {
    auto random = generator();
    for (const BlockSize& size : block_sizes) {
        SCOPED_TRACE(size.text());
        const BlockProblem<float> p(size, random);
        const Output<float> sums = p.run(queue());
        sums.expect_kept_inside("sums");
        expect_sums(BlockProblem<double>(p), sums);
    }
}

TEST(HeptAttendReference, AgreesWithTheFormulaInDouble) {
    auto random = generator();
    for (const BlockSize& size : block_sizes) {
        SCOPED_TRACE(size.text());
        const BlockProblem<double> p(BlockProblem<float>(size, random));
        const Output<double> sums = p.run(Queue());
        for (size_t i = 0; i < p.queries.size(); ++i) {
            for (int64_t c = 0; c <= size.shape.n_channel; ++c) {
                double want = 0;
                for (const int32_t j : p.keys)
                    want += std::exp(-square(p, p.queries[i], j) / 2) * value(p, j, c);
                if (c == size.shape.n_channel)
                    want += static_cast<double>(size.n_zero_key) *
                                std::exp(-square(p, p.queries[i], -1) / 2) +
                            epsilon;
                const double got = sums[static_cast<int64_t>(i) * size.shape.n_sum() + c];
                ASSERT_NEAR(got, want, 1e-13 * static_cast<double>(1 + p.keys.size()));
            }
        }
    }
}

TEST(HeptAttendLevels, GiveTheSameBits) {
    auto random = generator();
    for (const BlockSize& size : block_sizes) {
        SCOPED_TRACE(size.text());
        const BlockProblem<float> p(size, random);
        const Output<float> want = p.run(Queue(Backend::simd, VectorLevel::scalar, 1));
        for (VectorLevel level : wide_levels())
            expect_same_bits(p.run(Queue(Backend::simd, level, 1)), want);
    }
}

TEST_P(HeptAttendOn, AQueryDoesNotSeeTheOthersNorItsPlaceNorTheNextBlock) {
    auto random = generator();
    const BlockProblem<float> p({{24, 6}, 100, 40, 3}, random);
    const Output<float> sums = p.run(queue());
    const int64_t n_sum = p.size.shape.n_sum();
    std::vector<int32_t> others(p.queries.rbegin(), p.queries.rend());
    Block<float> block = p.block();
    for (const size_t n : {1, 3, 8, 17, 33, 100}) {
        block.queries = {others.data(), n};
        block.next_queries = {p.queries.data(), n / 2};
        block.next_keys = p.keys;
        const Output<float> some = p.run(queue(), block);
        for (size_t i = 0; i < n; ++i) {
            const size_t place = others.size() - 1 - i;
            ASSERT_EQ(std::memcmp(some.data() + static_cast<int64_t>(i) * n_sum,
                                  sums.data() + static_cast<int64_t>(place) * n_sum,
                                  static_cast<size_t>(n_sum) * sizeof(float)),
                      0)
                << "query " << place << " as number " << i << " of " << n;
        }
    }
}

TEST_P(HeptAttendOn, SumsGoOrAreAddedToTheRowsThatAreNamed) {
    auto random = generator();
    const BlockProblem<float> p({{24, 6}, 37, 40, 3}, random);
    const Output<float> in_order = p.run(queue());
    const int64_t n_sum = p.size.shape.n_sum();
    std::vector<int32_t> to(p.queries.size());
    for (size_t i = 0; i < to.size(); ++i) to[i] = static_cast<int32_t>((2 + 5 * i) % 37);
    Output<float> sums(37 * n_sum);
    Buffer<float> scratch(attend_block_scratch(p.size.shape));
    attend_block<float>(queue(), p.size.shape, p.block(), scratch.data(), sums.data(), to);
    sums.expect_kept_inside("sums");
    for (size_t i = 0; i < to.size(); ++i)
        for (int64_t c = 0; c < n_sum; ++c)
            ASSERT_EQ(sums[to[i] * n_sum + c], in_order[static_cast<int64_t>(i) * n_sum + c]);
    attend_block<float>(queue(), p.size.shape, p.block(), scratch.data(), sums.data(), to, true);
    sums.expect_kept_inside("sums");
    for (size_t i = 0; i < to.size(); ++i)
        for (int64_t c = 0; c < n_sum; ++c)
            ASSERT_EQ(sums[to[i] * n_sum + c], 2 * in_order[static_cast<int64_t>(i) * n_sum + c]);
}

/// Trained models have |Q|^2 up to 4e6, nearly all of it from coordinates.
TEST_P(HeptAttendOn, LargeRowsAtSmallDistancesKeepTheirWeights) {
    auto random = generator();
    for (const double spread : {0.02, 0.3, 2.0, 40.0}) {
        SCOPED_TRACE(spread);
        BlockProblem<float> p({{24, 6}, 100, 100, 4}, random, spread);
        for (int64_t i = 0; i < p.n_token; ++i)
            for (int64_t r = 0; r < 6; ++r) p.row(i)[24 + r] += r % 2 == 0 ? 1150.0f : -80.0f;
        const BlockProblem<double> exact(p);
        ASSERT_GT(square(exact, p.queries[0], -1), 3.9e6);
        expect_sums(exact, p.run(queue()));
    }
}

TEST_P(HeptAttendOn, EqualTokensHaveTheWeightOne) {
    auto random = generator();
    for (const int64_t n : {1, 16, 100, 1024}) {
        BlockProblem<float> p({{5, 3}, n, n, 0}, random);
        const float row[] = {300, -7, 1, 0.1f, 5, 400, 2, -3, 300, -7, 1, 0.1f, 5, 2, 2, 2, 2, 2};
        for (int64_t i = 0; i < p.n_token; ++i) std::copy(std::begin(row), std::end(row), p.row(i));
        const Output<float> sums = p.run(queue());
        for (int64_t i = 0; i < n; ++i) {
            for (int64_t c = 0; c < 5; ++c)
                ASSERT_EQ(sums[i * 6 + c], 2.0f * static_cast<float>(n));
            ASSERT_EQ(sums[i * 6 + 5], static_cast<float>(n));
        }
    }
}

TEST_P(HeptAttendOn, KeysThatAreFarGiveNothingButEpsilon) {
    auto random = generator();
    for (const float far : {20.0f, 1e3f, 4e18f}) {
        BlockProblem<float> p({{6, 3}, 20, 20, 0}, random);
        for (size_t i = 0; i < p.keys.size(); ++i) {
            p.queries[i] = static_cast<int32_t>(i);
            p.keys[i] = static_cast<int32_t>(20 + i);
            p.row(p.keys[i])[6] += far;
            p.row(p.queries[i])[6] -= far;
        }
        const Output<float> sums = p.run(queue());
        for (int64_t i = 0; i < 20; ++i) {
            for (int64_t c = 0; c < 6; ++c) ASSERT_EQ(sums[i * 7 + c], 0.0f);
            ASSERT_EQ(sums[i * 7 + 6], static_cast<float>(epsilon));
        }
    }
}

/// Two tokens, by hand: d = 1, D = 1, Q_0 = (1, 2), K_1 = (2, 2), v_1 = 3: weight exp(-1/2).
TEST_P(HeptAttendOn, TwoTokensAgreeWithNumbersByHand) {
    const RowShape shape{1, 1};
    std::vector<float> rows(2 * static_cast<size_t>(shape.stride()));
    rows[0] = 1, rows[1] = 2, rows[2] = 7, rows[3] = 9;      // q, s x, k, v of token 0
    rows[16] = 5, rows[17] = 2, rows[18] = 2, rows[19] = 3;  // of token 1
    const std::vector<int32_t> query = {0}, key = {1};
    Buffer<float> scratch(attend_block_scratch(shape));
    float sums[2];
    attend_block<float>(queue(), shape, {rows.data(), query, key, 2}, scratch.data(), sums);
    EXPECT_NEAR(sums[0], 3 * std::exp(-0.5), 1e-6);
    EXPECT_NEAR(sums[1], std::exp(-0.5) + 2 * std::exp(-2.5), 1e-6);
}

}  // namespace
}  // namespace surrogate::kernels::hept::test
