// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "tests/kernels/flare/gradient_problem.hpp"

namespace surrogate::kernels::test {
namespace {

class FlareGradientLaw : public OnTarget {};
SURROGATE_ON_ALL_TARGETS(FlareGradientLaw);

const FlareCase usual_gradient = {{2, 150, 8}, {150, {}}};

/// A problem with gradients of predictions, and both passes over it.
struct Backward {
    Backward(const FlareCase& c, std::mt19937& random, double score_size = 2)
        : problem(c, random, score_size),
          dy(TileBox<float>::input, c.sizes.n_channel(), c.tile.n_point),
          results(c) {
        dy.fill_normal(random);
    }
    void run(const Queue& queue) {
        const FlareProblem<double> problem64(problem);
        const LatentSideBox<float> forward(
            problem64, Buffer<double>(flare::LatentSums<double>::size(problem.sizes)));
        results.decode_backward(queue, problem, forward.z(), dy.input_view());
        Buffer<double> dz(results.dz_rows().size());
        std::copy(results.dz_rows().begin(), results.dz_rows().end(), dz.begin());
        latents = std::make_unique<LatentSideBox<float>>(problem64, dz);
        results.mix_backward(queue, problem, latents->view(), dy.input_view(),
                             results.of_points.input_view());
    }

    FlareProblem<float> problem;
    TileBox<float> dy;
    MixerGradients<float> results;
    std::unique_ptr<LatentSideBox<float>> latents;
};

/// Sum over columns of a tile's row.
double sum_of_row(Tile<const float> tile, int64_t c) {
    double sum = 0;
    for (int64_t i = 0; i < tile.shape[1]; ++i) sum += static_cast<double>(tile(c, i));
    return sum;
}

double sum_over_latents(const flare::LatentSums<float>& sums, int64_t head, int64_t d) {
    double sum = 0;
    for (int64_t m = 0; m < sums.sizes.n_latent; ++m)
        sum += static_cast<double>(sums.row(head, d)[m]);
    return sum;
}

TEST_P(FlareGradientLaw, WeightsOfBothSoftmaxesSumToOne) {
    // Over latents: sum_m dz[m] = sum_n dy[n]. Over points: sum_n dv[n] = sum_m dz[m].
    auto random = generator();
    for (double score_size : {0.0, 3.0, 100.0}) {  // the last with log sums far apart
        Backward backward(usual_gradient, random, score_size);
        backward.run(queue());
        const double error = epsilon<float> * (8 + 2 * backward.problem.largest_score()) * 150;
        const flare::Sizes sizes = usual_gradient.sizes;
        for (int64_t c = 0; c < sizes.n_channel(); ++c) {
            const double dz =
                sum_over_latents(backward.results.dz(), c / sizes.n_dim, c % sizes.n_dim);
            EXPECT_NEAR(dz, sum_of_row(backward.dy.input_view(), c), error);
            EXPECT_NEAR(sum_of_row(backward.results.dv.input_view(), c), dz, 4 * error);
        }
    }
}

TEST_P(FlareGradientLaw, AnySplitIntoCallsGivesTheSameBits) {
    auto random = generator();
    for (double score_size : {2.0, 100.0}) {
        Backward whole(usual_gradient, random, score_size);
        whole.run(queue());
        MixerGradients<float> parts(usual_gradient);
        for (const auto& [first, count] : {std::pair{0, 16}, {16, 64}, {80, 48}, {128, 22}}) {
            const auto part = [&, at = first, n = count](auto tile) { return points(tile, at, n); };
            const auto k = part(whole.problem.k.input_view()),
                       v = part(whole.problem.v.input_view()), dy = part(whole.dy.input_view());
            const auto of_points = part(parts.of_points.view());
            flare::decode_backward<float>(queue(), whole.problem.queries(), k, whole.latents->z(),
                                          dy, part(parts.y.view()), of_points, parts.dz());
            flare::mix_backward<float>(queue(), whole.problem.queries(), whole.latents->view(), k,
                                       v, dy, of_points, part(parts.dk.view()),
                                       part(parts.dv.view()), parts.dq());
        }
        expect_same_bits<float>(parts.y.input_view(), whole.results.y.input_view());
        expect_same_bits<float>(parts.dk.input_view(), whole.results.dk.input_view());
        expect_same_bits<float>(parts.dv.input_view(), whole.results.dv.input_view());
        expect_same_sums(parts.dz(), whole.results.dz());
        expect_same_sums(parts.dq(), whole.results.dq());
    }
}

TEST_P(FlareGradientLaw, LatentsWithLogSumsFarApartKeepTheirWeights) {
    // Scores 0 of one latent, about `far` of the other. Where they are far apart, weights of the
    // first over latents are smaller than any number, and those over points are 1 / n.
    auto random = generator();
    for (float far : {20.0f, 45.0f, 65.0f, 200.0f, 1000.0f}) {
        SCOPED_TRACE(far);
        const FlareCase c{{1, 2, 1}, {33, {}}};
        FlareProblem<float> problem(c, random);
        problem.k.fill([](int64_t, int64_t i) { return 1 + 0x1p-10 * static_cast<double>(i); });
        problem.set_query(0, 0, 0, 0.0f);
        problem.set_query(0, 1, 0, far);
        TileBox<float> dy(TileBox<float>::input, 1, 33);
        dy.fill_normal(random);
        Buffer<double> dz(flare::LatentSums<double>::size(c.sizes));
        std::fill(dz.begin(), dz.end(), 1.0);
        const LatentSideBox<float> latents(FlareProblem<double>(problem), dz);
        MixerGradients<float> got(c);
        got.decode_backward(queue(), problem, latents.z(), dy.input_view());
        got.mix_backward(queue(), problem, latents.view(), dy.input_view(),
                         got.of_points.input_view());
        // dv = P of both latents, for dz = 1.
        double sum = 0;
        for (int64_t i = 0; i < 33; ++i)
            sum += std::exp2(static_cast<double>(far) * 0x1p-10 * static_cast<double>(i));
        for (int64_t i = 0; i < 33; ++i) {
            const double p =
                1.0 / 33 +
                std::exp2(static_cast<double>(far) * 0x1p-10 * static_cast<double>(i)) / sum;
            EXPECT_NEAR(got.dv.view()(0, i), p, p * epsilon<float> * (16 + 2 * far)) << i;
        }
    }
}

TEST_P(FlareGradientLaw, OneLatentPassesGradientsOn) {
    // R is 1: y = z for every point, dz = sum_n dy, and no score matters to the decode. With one
    // point P is 1 too: dv = dy and no score matters at all.
    auto random = generator();
    Backward backward({{2, 1, 4}, {1, {}}}, random);
    backward.run(queue());
    for (int64_t c = 0; c < 8; ++c) {
        // P is a product of two powers, each with an error of 1.8e-7.
        EXPECT_NEAR(backward.results.dv.view()(c, 0), backward.dy.view()(c, 0),
                    8 * epsilon<float> * std::abs(backward.dy.view()(c, 0)));
        EXPECT_NEAR(backward.results.dk.view()(c, 0), 0, 1e-6);
    }
}

TEST_P(FlareGradientLaw, ANaNReachesAllLatentsOfItsHead) {
    auto random = generator();
    for (int which = 0; which < 3; ++which) {
        SCOPED_TRACE(which);
        Backward backward({{2, 20, 4}, {40, {}}}, random);
        const FlareProblem<double> problem64(backward.problem);
        const LatentSideBox<float> latents(
            problem64, Buffer<double>(flare::LatentSums<double>::size(problem64.sizes)));
        TileBox<float>* const inputs[] = {&backward.problem.k, &backward.problem.v, &backward.dy};
        inputs[which]->view()(1, 33) = std::numeric_limits<float>::quiet_NaN();
        MixerGradients<float>& got = backward.results;
        const auto queries = backward.problem.queries();
        const auto k = backward.problem.k.input_view(), v = backward.problem.v.input_view(),
                   dy = backward.dy.input_view();
        flare::decode_backward<float>(queue(), queries, k, latents.z(), dy, got.y.view(),
                                      got.of_points.view(), got.dz());
        flare::mix_backward<float>(queue(), queries, latents.view(), k, v, dy,
                                   got.of_points.input_view(), got.dk.view(), got.dv.view(),
                                   got.dq());
        for (int64_t m = 0; m < 20; ++m) {
            EXPECT_EQ(std::isnan(got.dz().row(0, 1)[m]), which != 1) << "v is not read for dz";
            // dz is 0 here, so that v counts by its NaN alone.
            EXPECT_TRUE(std::isnan(got.dq().row(0, 1)[m])) << m;
            EXPECT_FALSE(std::isnan(got.dz().row(1, 1)[m])) << "the other head, latent " << m;
            EXPECT_FALSE(std::isnan(got.dq().row(1, 1)[m])) << "the other head, latent " << m;
        }
        for (int64_t c = 0; c < 4; ++c) EXPECT_TRUE(std::isnan(got.dk.view()(c, 33)));
        EXPECT_FALSE(std::isnan(got.dk.view()(0, 32)));
    }
}

}  // namespace
}  // namespace surrogate::kernels::test
