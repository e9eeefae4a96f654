// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/base/reference_queue.hpp"
#include "tests/kernels/base/slope.hpp"
#include "tests/kernels/flare/gradient_problem.hpp"

namespace surrogate::kernels::test {
namespace {

class FlareWeightsOn : public OnTarget {};
SURROGATE_ON_ALL_TARGETS(FlareWeightsOn);

/// log2 of weights: 0 for point 0, others down to -span; every fourth point after it has weight 0
/// if `has_zero`. Padded for tiles.
template <class T>
Buffer<T> weights_of(int64_t n_point, double span, bool has_zero, std::mt19937& random) {
    std::uniform_real_distribution<float> between(static_cast<float>(-span), 0);
    Buffer<T> log_weight(round_up(n_point, lane_count));
    for (int64_t i = 1; i < n_point; ++i)
        log_weight[i] = T(has_zero && i % 4 == 0 ? flare::no_weight : between(random));
    return log_weight;
}

Buffer<double> in_double(const Buffer<float>& from) {
    Buffer<double> to(from.size());
    std::ranges::copy(from, to.begin());
    return to;
}

/// The formula: z = sum_n w 2^S v / sum_n w 2^S and log_sum = log2 sum_n w 2^S, (H, M, D), (H, M).
struct Formula {
    Buffer<double> z, log_sum;

    Formula(const FlareProblem<double>& problem, const double* log_weight)
        : z(problem.n_score()), log_sum(problem.sizes.n_head * problem.sizes.n_latent) {
        const auto [n_head, n_latent, n_dim] = problem.sizes;
        const auto k = problem.k.input_view(), v = problem.v.input_view();
        for (int64_t row = 0; row < n_head * n_latent; ++row) {
            const int64_t c = row / n_latent * n_dim;
            double sum = 0;
            for (int64_t i = 0; i < problem.n_point(); ++i) {
                double score = 0;
                for (int64_t d = 0; d < n_dim; ++d)
                    score += problem.queries().by_latent[row * n_dim + d] * k(c + d, i);
                const double p = std::exp2(log_weight[i]) * std::exp2(score);
                sum += p;
                for (int64_t d = 0; d < n_dim; ++d) z[row * n_dim + d] += p * v(c + d, i);
            }
            for (int64_t d = 0; d < n_dim; ++d) z[row * n_dim + d] /= sum;
            log_sum[row] = std::log2(sum);
        }
    }
};

template <class T>
PartialBox<T> encoded(const Queue& queue, const FlareProblem<T>& problem, const T* log_weight) {
    PartialBox<T> box(problem.sizes);
    Traps traps;
    flare::encode<T>(queue, problem.queries(), problem.k.input_view(), problem.v.input_view(),
                     box.partial, log_weight);
    return box;
}

/// Bitwise identical, except for the sign of zero, which padding has as a maximum.
void expect_same_numbers(const Buffer<float>& got, const Buffer<float>& want) {
    for (int64_t i = 0; i < want.size(); ++i) ASSERT_EQ(got[i], want[i]);
}

TEST(FlareWeightsReference, FollowTheFormula) {
    auto random = generator();
    for (const FlareCase& c : flare_cases) {
        if (c.tile.n_point == 0) continue;
        const FlareProblem<double> problem(c, random);
        const auto weight = weights_of<double>(c.tile.n_point, 20, false, random);
        const auto z = latents_of(encoded<double>(reference, problem, weight.data()));
        const Formula want(problem, weight.data());
        for (int64_t i = 0; i < z.size(); ++i) ASSERT_NEAR(z[i], want.z[i], 1e-12);
    }
}

TEST_P(FlareWeightsOn, FollowTheReference) {
    auto random = generator();
    for (const double span : {3.0, 80.0}) {
        for (const FlareCase& c : flare_cases) {
            if (c.tile.n_point == 0) continue;
            const FlareProblem<float> problem(c, random);
            const FlareProblem<double> in_64(problem);
            const auto weight = weights_of<float>(c.tile.n_point, span, false, random);
            const auto weight_64 = in_double(weight);
            const auto z = latents_of(encoded<float>(queue(), problem, weight.data()));
            const auto want = latents_of(encoded<double>(reference, in_64, weight_64.data()));
            const double error = epsilon<float> * 8 * (4 + 2 * problem.largest_score());
            for (int64_t i = 0; i < z.size(); ++i) ASSERT_NEAR(z[i], want[i], error);
        }
    }
}

TEST_P(FlareWeightsOn, OfOneHaveTheBitsOfNone) {
    auto random = generator();
    for (const double score_size : {2.0, 300.0, 1e7}) {
        for (const FlareCase& c : flare_cases) {
            const FlareProblem<float> problem(c, random, score_size);
            const Buffer<float> zeros(lane_count + c.tile.n_point);
            expect_same_numbers(encoded<float>(queue(), problem, zeros.data()).data,
                                encoded<float>(queue(), problem, nullptr).data);
        }
    }
}

/// Both backward passes of random numbers, with log sums in a range of `spread` powers of two.
MixerGradients<float> run_back(VectorLevel level, const FlareCase& c,
                               const FlareProblem<float>& problem, Tile<const float> dy,
                               double spread, const float* log_weight) {
    std::mt19937 random(3);
    std::normal_distribution<float> normal;
    const int64_t n_row = c.sizes.n_head * c.sizes.n_row();
    Buffer<float> z(problem.n_score()), dz(n_row * c.sizes.n_dim), gamma(n_row), log_sum(n_row);
    for (Buffer<float>* x : {&z, &dz, &gamma})
        for (float& value : *x) value = normal(random);
    std::uniform_real_distribution<> between(0, spread);
    for (float& value : log_sum)
        value = static_cast<float>(problem.largest_score() + between(random));
    const Queue queue(Backend::simd, level, 1);
    MixerGradients<float> got(c);
    got.decode_backward(queue, problem, z.data(), dy);
    got.mix_backward(queue, problem, {z.data(), dz.data(), gamma.data(), log_sum.data()}, dy,
                     got.of_points.input_view(), log_weight);
    return got;
}

void expect_same_gradients(MixerGradients<float>& got, MixerGradients<float>& want) {
    expect_same_bits<float>(got.dk.input_view(), want.dk.input_view());
    expect_same_bits<float>(got.dv.input_view(), want.dv.input_view());
    expect_same_sums(got.dq(), want.dq());
}

TEST(FlareWeightsLevels, GiveTheSameBits) {
    auto random = generator();
    for (const double spread : {10.0, 300.0}) {
        for (const FlareCase& c : flare_cases) {
            if (c.tile.n_point == 0) continue;
            const FlareProblem<float> problem(c, random);
            TileBox<float> dy(TileBox<float>::input, c.sizes.n_channel(), c.tile.n_point);
            dy.fill_normal(random);
            const auto positive = weights_of<float>(c.tile.n_point, 80, false, random);
            const auto weight = weights_of<float>(c.tile.n_point, 80, true, random);
            const Queue lane(Backend::simd, VectorLevel::scalar, 1);
            const auto want = encoded<float>(lane, problem, positive.data());
            auto want_back =
                run_back(VectorLevel::scalar, c, problem, dy.input_view(), spread, weight.data());
            for (VectorLevel level : wide_levels()) {
                const Queue queue(Backend::simd, level, 1);
                expect_same_numbers(encoded<float>(queue, problem, positive.data()).data,
                                    want.data);
                auto got = run_back(level, c, problem, dy.input_view(), spread, weight.data());
                expect_same_gradients(got, want_back);
            }
            const Buffer<float> zeros(weight.size());
            auto none = run_back(VectorLevel::scalar, c, problem, dy.input_view(), spread, nullptr);
            auto weighted =
                run_back(VectorLevel::scalar, c, problem, dy.input_view(), spread, zeros.data());
            expect_same_gradients(weighted, none);
        }
    }
}

/// log_sum, z and gamma of the formula, in the layout of the second pass.
template <class T>
struct FormulaSide {
    Buffer<T> z, dz, gamma, log_sum;

    FormulaSide(const flare::Sizes& sizes, const Formula& formula, const Buffer<double>& dz_64)
        : z(rounded<T>(formula.z)),
          dz(rounded<T>(dz_64)),
          gamma(sizes.n_head * sizes.n_row()),
          log_sum(gamma.size()) {
        const auto [n_head, n_latent, n_dim] = sizes;
        for (int64_t row = 0; row < n_head * n_latent; ++row) {
            const int64_t h = row / n_latent, m = row % n_latent, at = h * sizes.n_row() + m;
            double sum = 0;
            for (int64_t d = 0; d < n_dim; ++d)
                sum += formula.z[row * n_dim + d] * dz_64[(h * n_dim + d) * sizes.n_row() + m];
            gamma[at] = static_cast<T>(sum);
            log_sum[at] = static_cast<T>(formula.log_sum[row]);
        }
    }
    flare::LatentSide<T> view() const {
        return {z.data(), dz.data(), gamma.data(), log_sum.data()};
    }
};

TEST(FlareWeightsReference, AgreeWithFiniteDifferences) {
    auto random = generator();
    for (const FlareCase& c : {flare_cases[1], flare_cases[3], flare_cases[4]}) {
        FlareProblem<double> problem(c, random);
        const auto weight = weights_of<double>(c.tile.n_point, 3, true, random);
        TileBox<double> dy(TileBox<double>::input, c.sizes.n_channel(), c.tile.n_point);
        dy.fill_normal(random);
        const Formula formula(problem, weight.data());
        MixerGradients<double> got(c);
        got.decode_backward(reference, problem, formula.z.data(), dy.input_view());
        const FormulaSide<double> latents(c.sizes, formula, got.dz_rows());
        got.mix_backward(reference, problem, latents.view(), dy.input_view(),
                         got.of_points.input_view(), weight.data());
        const auto loss = [&] {
            const auto y =
                decode_points<double>(reference, problem, Formula(problem, weight.data()).z);
            return inner_product(dy.input_view(), y.input_view());
        };
        for (int64_t channel = 0; channel < c.sizes.n_channel(); channel += 3) {
            expect_slopes("k", &problem.k.view()(channel, 0), &got.dk.view()(channel, 0),
                          c.tile.n_point, loss, 1e-9);
            expect_slopes("v", &problem.v.view()(channel, 0), &got.dv.view()(channel, 0),
                          c.tile.n_point, loss, 1e-9);
        }
        const auto dq = by_latent(got.dq());
        const auto [n_head, n_latent, n_dim] = c.sizes;
        for (int64_t i = 0; i < dq.size(); i += 1 + dq.size() / 20) {
            double q = problem.queries().by_latent[i];
            const auto set = [&] {
                problem.set_query(i / (n_latent * n_dim), i / n_dim % n_latent, i % n_dim, q);
            };
            const double want = slope(q, [&] {
                set();
                return loss();
            });
            set();
            ASSERT_NEAR(dq[i] * std::log(2.0), want, 1e-9) << "query " << i;
        }
    }
}

TEST_P(FlareWeightsOn, GradientsFollowTheReference) {
    auto random = generator();
    // Large scores send heads to the path of two exponentials.
    for (const double score_size : {2.0, 60.0}) {
        for (const FlareCase& c : flare_cases) {
            if (c.tile.n_point == 0) continue;
            const FlareProblem<float> problem(c, random, score_size);
            const FlareProblem<double> in_64(problem);
            const auto weight = weights_of<float>(c.tile.n_point, 70, true, random);
            const auto weight_64 = in_double(weight);
            TileBox<float> dy(TileBox<float>::input, c.sizes.n_channel(), c.tile.n_point);
            dy.fill_normal(random);
            TileBox<double> dy_64(TileBox<double>::input, c.sizes.n_channel(), c.tile.n_point);
            dy_64.fill_from(dy);
            const Formula formula(in_64, weight_64.data());
            const Buffer<float> z = rounded<float>(formula.z);
            MixerGradients<double> want(c);
            want.decode_backward(reference, in_64, formula.z.data(), dy_64.input_view());
            want.mix_backward(reference, in_64,
                              FormulaSide<double>(c.sizes, formula, want.dz_rows()).view(),
                              dy_64.input_view(), want.of_points.input_view(), weight_64.data());
            MixerGradients<float> got(c);
            got.decode_backward(queue(), problem, z.data(), dy.input_view());
            got.mix_backward(queue(), problem,
                             FormulaSide<float>(c.sizes, formula, want.dz_rows()).view(),
                             dy.input_view(), got.of_points.input_view(), weight.data());
            const auto n = static_cast<double>(c.tile.n_point + c.sizes.n_latent);
            const double error =
                epsilon<float> * (4 + 2 * problem.largest_score() + 2 * std::sqrt(n)) * 8;
            double dz_size = 1;
            for (const double x : by_latent(want.dz())) dz_size = std::max(dz_size, std::abs(x));
            const double dim = std::sqrt(static_cast<double>(c.sizes.n_dim));
            expect_close<float>(got.dv.input_view(), want.dv.input_view(), error * dz_size * 4);
            expect_close<float>(got.dk.input_view(), want.dk.input_view(),
                                error * dz_size * dim * 8);
        }
    }
}

}  // namespace
}  // namespace surrogate::kernels::test
