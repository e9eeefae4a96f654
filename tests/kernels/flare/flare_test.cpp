// SPDX-License-Identifier: Apache-2.0
#include "kernels/flare/flare.hpp"

#include "tests/kernels/base/reference_queue.hpp"
#include "tests/kernels/flare/flare_problem.hpp"

namespace surrogate::kernels::test {
namespace {

class FlareOn : public OnTarget {};
SURROGATE_ON_ALL_TARGETS(FlareOn);

/// Bound on |z| or |y|: n terms, each with the rounding of its score, values of size about 4.
double bound_of(const FlareProblem<float>& problem, int64_t n_term) {
    return epsilon<float> *
           (4 * std::sqrt(static_cast<double>(n_term)) + 2 * problem.largest_score()) * 4;
}

TEST_P(FlareOn, GivesNumbersOfTheFormulas) {
    // One head, one channel; queries (0, 1) in base 2, points k = (0, 1), v = (1, 4).
    //   latent 0: scores (0, 0), weights (1, 1),   z = 5/2;   latent 1: scores (0, 1), weights
    //                                              (1/2, 1), z = 3
    //   point 0:  scores (0, 0), y = (5/2 + 3)/2;             point 1:  scores (0, 1), y = (5/4 +
    //             3)/(3/2)
    const float q[lane_count] = {0, 1};
    TileBox<float> k(TileBox<float>::input, 1, 2), v(TileBox<float>::input, 1, 2),
        y(TileBox<float>::output, 1, 2);
    k.fill([](int64_t, int64_t i) { return i; });
    v.fill([](int64_t, int64_t i) { return 1 + 3 * i; });
    const flare::Sizes sizes{1, 2, 1};
    PartialBox<float> box(sizes);
    flare::encode<float>(queue(), {sizes, q, q}, k.input_view(), v.input_view(), box.partial);
    EXPECT_EQ(box.partial.maximum(0)[0], 0);
    EXPECT_EQ(box.partial.maximum(0)[1], 1);
    EXPECT_EQ(box.partial.sum(0)[0], 2);
    EXPECT_EQ(box.partial.value(0, 0)[0], 5);
    EXPECT_NEAR(box.partial.sum(0)[1], 1.5, 2e-7);
    EXPECT_NEAR(box.partial.value(0, 0)[1], 4.5, 5e-7);
    const float z[] = {2.5f, 3.0f};
    flare::decode<float>(queue(), {sizes, q, q}, k.input_view(), z, y.view());
    EXPECT_EQ(y.view()(0, 0), 2.75f);
    EXPECT_NEAR(y.view()(0, 1), 17.0 / 6, 5e-7);
}

TEST_P(FlareOn, AgreesWithDoubleOnAwkwardSizes) {
    auto random = generator();
    for (const FlareCase& c : flare_cases) {
        SCOPED_TRACE(testing::Message() << "H " << c.sizes.n_head << ", M " << c.sizes.n_latent
                                        << ", D " << c.sizes.n_dim << ", N " << c.tile.n_point);
        const FlareProblem<float> problem(c, random);
        const FlareProblem<double> problem64(problem);
        const auto z64 = encode_to_latents<double>(reference, problem64);
        if (c.tile.n_point > 0) {
            const auto z = encode_to_latents<float>(queue(), problem);
            const double bound = bound_of(problem, problem.n_point());
            for (int64_t i = 0; i < z.size(); ++i)
                ASSERT_LE(std::abs(z[i] - z64[i]), bound) << "latent element " << i;
        }
        auto z = rounded<float>(z64);
        if (c.tile.n_point == 0) std::fill(z.begin(), z.end(), 0.0f);
        const auto y = decode_points<float>(queue(), problem, z, c.tile.layout);
        const auto y64 = decode_points<double>(reference, problem64, rounded<double>(z64));
        expect_close<float>(y.input_view(), y64.input_view(), bound_of(problem, c.sizes.n_latent));
        y.expect_kept_inside("y");
        problem.k.expect_unchanged("k");
        problem.v.expect_unchanged("v");
    }
}

TEST_P(FlareOn, NoPointsChangeNothing) {
    auto random = generator();
    const FlareProblem<float> some({{2, 5, 4}, {9, {}}}, random),
        none({{2, 5, 4}, {0, {}}}, random);
    PartialBox<float> box(some.sizes), before(some.sizes);
    for (PartialBox<float>* p : {&box, &before})
        flare::encode<float>(queue(), some.queries(), some.k.input_view(), some.v.input_view(),
                             p->partial);
    flare::encode<float>(queue(), none.queries(), none.k.input_view(), none.v.input_view(),
                         box.partial);
    EXPECT_EQ(
        std::memcmp(box.data.data(), before.data.data(), static_cast<size_t>(box.data.bytes())), 0);
}

/// The state after `problem` was encoded twice, so that the rescaling of a running maximum is
/// compared too.
PartialBox<float> encoded_twice(VectorLevel level, const FlareProblem<float>& problem,
                                const FlareProblem<float>& second) {
    PartialBox<float> box(problem.sizes);
    flare::simd::encode(level, problem.queries(), problem.k.input_view(), problem.v.input_view(),
                        box.partial);
    flare::simd::encode(level, problem.queries(), second.k.input_view(), second.v.input_view(),
                        box.partial);
    return box;
}

TEST(FlareLevels, GiveTheSameBits) {
    auto random = generator();
    for (double score_size : {2.0, 200.0, 1e7, 1e30}) {
        for (const FlareCase& c : flare_cases) {
            const FlareProblem<float> problem(c, random, score_size);
            const FlareProblem<float> second(c, random, 2 * score_size);
            Buffer<float> z(problem.n_score());
            for (float& x : z) x = std::normal_distribution<float>()(random);
            const auto one = encoded_twice(VectorLevel::scalar, problem, second);
            const Queue scalar(Backend::simd, VectorLevel::scalar, 1);
            const auto y1 = decode_points<float>(scalar, problem, z);
            for (VectorLevel level : wide_levels()) {
                const auto box = encoded_twice(level, problem, second);
                for (int64_t i = 0; i < box.data.size(); ++i)
                    ASSERT_EQ(std::memcmp(&box.data[i], &one.data[i], sizeof(float)), 0)
                        << "element " << i << " of the partial: " << box.data[i] << " and "
                        << one.data[i] << ", score size " << score_size;
                const auto y = decode_points<float>(Queue(Backend::simd, level, 1), problem, z);
                expect_same_bits<float>(y.input_view(), y1.input_view());
            }
        }
    }
}

}  // namespace
}  // namespace surrogate::kernels::test
