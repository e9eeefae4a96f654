// SPDX-License-Identifier: Apache-2.0
#include <numeric>

#include "tests/kernels/flare/flare_problem.hpp"

namespace surrogate::kernels::test {
namespace {

class FlareLaw : public OnTarget {};
SURROGATE_ON_ALL_TARGETS(FlareLaw);

const FlareCase usual = {{2, 24, 8}, {150, {}}};

/// Points [first, first + count) of a tile, as a tile of their own.
TileBox<float> points_of(const TileBox<float>& all, int64_t first, int64_t count) {
    TileBox<float> part(TileBox<float>::input, all.input_view().shape[0], count);
    part.fill([&](int64_t c, int64_t i) { return all.input_view()(c, first + i); });
    return part;
}

void expect_latents_close(const Buffer<double>& z, const Buffer<double>& want, double bound) {
    for (int64_t i = 0; i < z.size(); ++i)
        ASSERT_LE(std::abs(z[i] - want[i]), bound) << "latent element " << i;
}

TEST_P(FlareLaw, AnySplitOfThePointsAgrees) {
    auto random = generator();
    const FlareProblem<float> problem(usual, random);
    const auto whole = encode_to_latents<float>(queue(), problem);
    for (int64_t chunk : {1, 7, 16, 64, 149}) {
        PartialBox<float> one(problem.sizes);
        Buffer<double> memory(flare::Total::size(problem.sizes));
        const flare::Total total{problem.sizes, memory.data()};
        flare::reset(total);
        for (int64_t first = 0; first < problem.n_point(); first += chunk) {
            const int64_t count = std::min(chunk, problem.n_point() - first);
            const auto k = points_of(problem.k, first, count),
                       v = points_of(problem.v, first, count);
            PartialBox<float> own(problem.sizes);
            Traps traps;
            flare::encode<float>(queue(), problem.queries(), k.input_view(), v.input_view(),
                                 one.partial);
            flare::encode<float>(queue(), problem.queries(), k.input_view(), v.input_view(),
                                 own.partial);
            flare::combine(own.input(), total);
        }
        // Same terms, same scores: only the order of the sums differs.
        const double bound = 4 * epsilon<float> * std::sqrt(150.0) * 4;
        expect_latents_close(latents_of(one), whole, bound);
        expect_latents_close(latents_of(total), whole, bound);
    }
}

TEST_P(FlareLaw, PermutedPointsPermute) {
    auto random = generator();
    const FlareProblem<float> problem(usual, random);
    std::vector<int64_t> order(static_cast<size_t>(problem.n_point()));
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    FlareProblem<float> permuted{FlareProblem<double>(problem)};
    const auto at = [&](int64_t i) { return order[static_cast<size_t>(i)]; };
    permuted.k.fill([&](int64_t c, int64_t i) { return problem.k.input_view()(c, at(i)); });
    permuted.v.fill([&](int64_t c, int64_t i) { return problem.v.input_view()(c, at(i)); });

    const auto z = encode_to_latents<float>(queue(), problem);
    expect_latents_close(encode_to_latents<float>(queue(), permuted), z,
                         4 * epsilon<float> * std::sqrt(150.0) * 4);
    const auto y = decode_points<float>(queue(), problem, rounded<float>(z));
    const auto moved = decode_points<float>(queue(), permuted, rounded<float>(z));
    for (int64_t c = 0; c < problem.sizes.n_channel(); ++c) {
        for (int64_t i = 0; i < problem.n_point(); ++i)  // a point does not depend on its neighbors
            ASSERT_EQ(moved.input_view()(c, i), y.input_view()(c, at(i)));
    }
}

TEST_P(FlareLaw, WeightsSumToOne) {
    auto random = generator();
    for (double score_size : {0.0, 3.0, 300.0}) {
        FlareProblem<float> problem(usual, random, score_size);
        problem.v.fill([](int64_t c, int64_t) { return 0.1 * static_cast<double>(c + 1); });
        const auto z = encode_to_latents<float>(queue(), problem);
        Buffer<float> constant(problem.n_score());
        const int64_t n_dim = problem.sizes.n_dim;
        for (int64_t i = 0; i < z.size(); ++i) {
            const int64_t channel = i / (problem.sizes.n_latent * n_dim) * n_dim + i % n_dim;
            constant[i] = 0.1f * static_cast<float>(channel + 1);
            ASSERT_LE(std::abs(z[i] - constant[i]), 2 * epsilon<float> * std::sqrt(150.0) * 1.6);
        }
        const auto y = decode_points<float>(queue(), problem, constant);
        for (int64_t c = 0; c < problem.sizes.n_channel(); ++c)
            for (int64_t i = 0; i < problem.n_point(); ++i)
                ASSERT_LE(std::abs(y.input_view()(c, i) - 0.1 * static_cast<double>(c + 1)),
                          2 * epsilon<float> * std::sqrt(24.0) * 1.6);
    }
}

TEST_P(FlareLaw, OneLatentIsReadBackExactly) {
    auto random = generator();
    const FlareProblem<float> problem({{2, 1, 8}, {33, {}}}, random);
    Buffer<float> z(problem.n_score());
    for (float& x : z) x = std::normal_distribution<float>()(random);
    const auto y = decode_points<float>(queue(), problem, z);
    for (int64_t c = 0; c < 16; ++c)
        for (int64_t i = 0; i < 33; ++i) ASSERT_EQ(y.input_view()(c, i), z[c]);
}

TEST_P(FlareLaw, OnePointGivesItsValueToAllLatentsExactly) {
    auto random = generator();
    const FlareProblem<float> problem({{2, 40, 4}, {1, {}}}, random);
    const auto z = encode_to_latents<float>(queue(), problem);
    for (int64_t h = 0; h < 2; ++h)
        for (int64_t m = 0; m < 40; ++m)
            for (int64_t d = 0; d < 4; ++d)
                ASSERT_EQ(z[(h * 40 + m) * 4 + d], problem.v.input_view()(h * 4 + d, 0));
}

TEST_P(FlareLaw, ManyPointsStayAccurate) {
    auto random = generator();
    const FlareCase chunk = {{1, 24, 8},
                             {1024, {}}};  // as many as the contract promises for one partial
    const FlareProblem<float> problem(chunk, random);
    const FlareProblem<double> problem64(problem);
    const auto z64 = encode_to_latents<double>(Queue(), problem64);
    expect_latents_close(encode_to_latents<float>(queue(), problem), z64,
                         epsilon<float> * (std::sqrt(1024.0) + 2 * problem.largest_score()));
}

}  // namespace
}  // namespace surrogate::kernels::test
