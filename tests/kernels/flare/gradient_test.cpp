// SPDX-License-Identifier: Apache-2.0
#include "kernels/flare/gradient.hpp"

#include "tests/kernels/base/reference_queue.hpp"
#include "tests/kernels/base/slope.hpp"
#include "tests/kernels/flare/gradient_problem.hpp"

namespace surrogate::kernels::test {
namespace {

class FlareGradientOn : public OnTarget {};
SURROGATE_ON_ALL_TARGETS(FlareGradientOn);

/// One more than flare_cases: latents of several blocks of every buffer of scores, a large head,
/// and points of several tiles.
std::vector<FlareCase> cases() {
    std::vector<FlareCase> all = flare_cases;
    all.push_back({{1, 650, 8}, {17, {}}});       // more latents than scores are kept of
    all.push_back({{2, 48, 32}, {130, {1, 1}}});  // largest head with an instance
    return all;
}

testing::Message text_of(const FlareCase& c) {
    return testing::Message() << "H " << c.sizes.n_head << ", M " << c.sizes.n_latent << ", D "
                              << c.sizes.n_dim << ", N " << c.tile.n_point;
}

TEST(FlareGradientReference, AgreesWithFiniteDifferences) {
    auto random = generator();
    for (const FlareCase& c : cases()) {
        if (c.tile.n_point == 0 || c.sizes.n_latent > 200 || c.sizes.n_channel() > 60) continue;
        SCOPED_TRACE(text_of(c));
        FlareProblem<double> problem(c, random);
        TileBox<double> dy(TileBox<double>::input, c.sizes.n_channel(), c.tile.n_point);
        dy.fill_normal(random);

        MixerGradients<double> got(c);
        const auto z = encode_to_latents<double>(reference, problem);
        got.decode_backward(reference, problem, z.data(), dy.input_view());
        const LatentSideBox<double> latents(problem, got.dz_rows());
        got.mix_backward(reference, problem, latents.view(), dy.input_view(),
                         got.of_points.input_view());

        const auto loss = [&] {
            const auto y = decode_points<double>(reference, problem,
                                                 encode_to_latents<double>(reference, problem));
            return inner_product(dy.input_view(), y.input_view());
        };
        for (int64_t channel = 0; channel < c.sizes.n_channel(); channel += 7) {
            double* k = &problem.k.view()(channel, 0);
            double* v = &problem.v.view()(channel, 0);
            expect_slopes("k", k, &got.dk.view()(channel, 0), c.tile.n_point, loss, 1e-9);
            expect_slopes("v", v, &got.dv.view()(channel, 0), c.tile.n_point, loss, 1e-9);
        }
        // Queries are multiplied by s log2 e, which is 1 here.
        const auto dq = by_latent(got.dq());
        for (int64_t i = 0; i < dq.size(); i += 1 + dq.size() / 20) {
            const auto [n_head, n_latent, n_dim] = c.sizes;
            double q = problem.queries().by_latent[i];
            const double want = slope(q, [&] {
                problem.set_query(i / (n_latent * n_dim), i / n_dim % n_latent, i % n_dim, q);
                return loss();
            });
            problem.set_query(i / (n_latent * n_dim), i / n_dim % n_latent, i % n_dim, q);
            ASSERT_NEAR(dq[i] * std::log(2.0), want, 1e-9) << "query " << i;
        }
    }
}

/// Rounding of one weight: of its score, of its exponential.
double error_of_weight(const FlareProblem<float>& problem) {
    return epsilon<float> * (4 + 2 * problem.largest_score());
}

void expect_close_sums(const flare::LatentSums<float>& got, const flare::LatentSums<double>& want,
                       double bound) {
    const auto got_all = by_latent(got), want_all = by_latent(want);
    for (int64_t i = 0; i < want_all.size(); ++i)
        ASSERT_LE(std::abs(got_all[i] - want_all[i]), bound)
            << "element " << i << " of (head, latent, dim): " << got_all[i] << ", expected "
            << want_all[i];
}

double largest_of(const flare::LatentSums<double>& sums) {
    double largest = 0;
    for (double x : by_latent(sums)) largest = std::max(largest, std::abs(x));
    return largest;
}

TEST_P(FlareGradientOn, AgreesWithDoubleOnAwkwardSizes) {
    auto random = generator();
    for (const FlareCase& c : cases()) {
        SCOPED_TRACE(text_of(c));
        const FlareProblem<float> problem(c, random);
        const FlareProblem<double> problem64(problem);
        TileBox<float> dy(TileBox<float>::input, c.sizes.n_channel(), c.tile.n_point, {1, 2});
        dy.fill_normal(random);
        TileBox<double> dy64(TileBox<double>::input, c.sizes.n_channel(), c.tile.n_point);
        dy64.fill_from(dy);

        MixerGradients<double> want(c);
        const Buffer<double> none(flare::LatentSums<double>::size(c.sizes));
        const LatentSideBox<double> forward64(problem64, none);
        if (c.tile.n_point > 0)
            want.decode_backward(reference, problem64, forward64.z(), dy64.input_view());
        const LatentSideBox<double> latents64(problem64, want.dz_rows());
        const LatentSideBox<float> latents(problem64, want.dz_rows());
        want.mix_backward(reference, problem64, latents64.view(), dy64.input_view(),
                          want.of_points.input_view());

        MixerGradients<float> got(c);
        got.decode_backward(queue(), problem, latents.z(), dy.input_view());
        got.mix_backward(queue(), problem, latents.view(), dy.input_view(),
                         got.of_points.input_view());

        // Weights are at most 1, values of size 4; every sum over latents has weights that add up
        // to 1. Sums over points grow by their rounding.
        const double n = static_cast<double>(c.tile.n_point + c.sizes.n_latent);
        const double error = (error_of_weight(problem) + 2 * epsilon<float> * std::sqrt(n)) * 8;
        const double dz_size = 1 + largest_of(want.dz());
        const double dim = std::sqrt(static_cast<double>(c.sizes.n_dim));
        expect_close<float>(got.y.input_view(), want.y.input_view(), error);
        expect_close_sums(got.dz(), want.dz(), error * std::sqrt(n));
        expect_close<float>(got.dv.input_view(), want.dv.input_view(), error * dz_size * 4);
        expect_close<float>(got.dk.input_view(), want.dk.input_view(), error * dz_size * dim * 8);
        expect_close_sums(got.dq(), want.dq(), error * dz_size * dim * 8 * std::sqrt(n));
        for (const TileBox<float>* x : {&got.y, &got.of_points, &got.dk, &got.dv})
            x->expect_kept_inside("a result");
        for (const TileBox<float>* x : {&problem.k, &problem.v, &std::as_const(dy)})
            x->expect_unchanged("an input");
    }
}

TEST_P(FlareGradientOn, GivesPredictionsWithTheBitsOfDecode) {
    auto random = generator();
    for (double score_size : {2.0, 200.0, 1e7}) {
        for (const FlareCase& c : cases()) {
            SCOPED_TRACE(text_of(c));
            const FlareProblem<float> problem(c, random, score_size);
            Buffer<float> z(problem.n_score());
            for (float& x : z) x = std::normal_distribution<float>()(random);
            TileBox<float> dy(TileBox<float>::input, c.sizes.n_channel(), c.tile.n_point);
            dy.fill_normal(random);
            MixerGradients<float> got(c);
            got.decode_backward(queue(), problem, z.data(), dy.input_view());
            const auto y = decode_points<float>(queue(), problem, z);
            expect_same_bits<float>(got.y.input_view(), y.input_view());
        }
    }
}

/// Both passes of random numbers, log sums among them: bits alone are compared. `spread` is the
/// distance of the log sums of a head, in powers of two.
MixerGradients<float> run_both(VectorLevel level, const FlareCase& c,
                               const FlareProblem<float>& problem, Tile<const float> dy,
                               double spread) {
    std::mt19937 random(3);
    std::normal_distribution<float> normal;
    const int64_t n_row = c.sizes.n_head * c.sizes.n_row();
    Buffer<float> z(problem.n_score()), dz(n_row * c.sizes.n_dim), gamma(n_row), log_sum(n_row);
    for (Buffer<float>* x : {&z, &dz, &gamma})
        for (float& value : *x) value = normal(random);
    std::uniform_real_distribution<> between(0, spread);
    const double largest = problem.largest_score();
    for (float& value : log_sum) value = static_cast<float>(largest + between(random));
    const Queue queue(Backend::simd, level, 1);
    MixerGradients<float> got(c);
    got.decode_backward(queue, problem, z.data(), dy);
    got.mix_backward(queue, problem, {z.data(), dz.data(), gamma.data(), log_sum.data()}, dy,
                     got.of_points.input_view());
    return got;
}

TEST(FlareGradientLevels, GiveTheSameBits) {
    auto random = generator();
    for (const auto& [score_size, spread] :
         {std::pair{2.0, 10.0}, {2.0, 300.0}, {1e7, 10.0}, {1e30, 10.0}, {1e30, 1e32}}) {
        for (const FlareCase& c : cases()) {
            SCOPED_TRACE(text_of(c) << ", scores " << score_size << ", spread " << spread);
            const FlareProblem<float> problem(c, random, score_size);
            TileBox<float> dy(TileBox<float>::input, c.sizes.n_channel(), c.tile.n_point, {1, 2});
            dy.fill_normal(random);
            auto want = run_both(VectorLevel::scalar, c, problem, dy.input_view(), spread);
            for (VectorLevel level : wide_levels()) {
                auto got = run_both(level, c, problem, dy.input_view(), spread);
                expect_same_bits<float>(got.y.input_view(), want.y.input_view());
                expect_same_bits<float>(got.of_points.input_view(), want.of_points.input_view());
                expect_same_bits<float>(got.dk.input_view(), want.dk.input_view());
                expect_same_bits<float>(got.dv.input_view(), want.dv.input_view());
                expect_same_sums(got.dz(), want.dz());
                expect_same_sums(got.dq(), want.dq());
            }
        }
    }
}

}  // namespace
}  // namespace surrogate::kernels::test
