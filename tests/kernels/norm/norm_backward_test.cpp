// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "kernels/norm/norm.hpp"
#include "tests/kernels/base/slope.hpp"
#include "tests/kernels/base/tile_box.hpp"

namespace surrogate::kernels::test {
namespace {

class NormBackwardOn : public OnTarget {};
SURROGATE_ON_ALL_TARGETS(NormBackwardOn);

const NormKind kinds[] = {NormKind::layer, NormKind::rms};

/// A norm with its gradient, an input, a gradient of the output and a residual.
template <class T>
struct Problem {
    Problem(const TileCase& tile, int64_t n)
        : n_channel(n),
          parameters(2 * n),
          gradient(2 * n),
          x(TileBox<T>::input, n, tile.n_point, tile.layout),
          dy(TileBox<T>::input, n, tile.n_point, {1, 3}),
          residual(TileBox<T>::input, n, tile.n_point, {2, 1}) {}

    void fill(std::mt19937& random, double scale = 1) {
        std::normal_distribution<float> normal;
        for (T& p : parameters) p = 1 + 0.25f * normal(random);
        x.fill_normal(random, scale);
        dy.fill_normal(random);
        residual.fill_normal(random);
    }
    template <class U>
    void fill_from(const Problem<U>& other) {
        std::copy(other.parameters.begin(), other.parameters.end(), parameters.begin());
        x.fill_from(other.x);
        dy.fill_from(other.dy);
        residual.fill_from(other.residual);
    }
    Norm<T> norm(NormKind kind) const {
        const bool has_bias = kind == NormKind::layer;
        return {kind, eps, parameters.data(), has_bias ? parameters.data() + n_channel : nullptr};
    }
    NormGradient clear_gradient(NormKind kind) {
        for (double& value : gradient) value = 0;
        return {gradient.data(), kind == NormKind::layer ? gradient.data() + n_channel : nullptr};
    }
    Tile<const double> gradients() const { return make_view(gradient.data(), 2, n_channel); }

    int64_t n_channel;
    T eps = T(1e-3);
    Buffer<T> parameters;
    Buffer<double> gradient;
    TileBox<T> x, dy, residual;
};

template <class T>
void backward(const Queue& queue, NormKind kind, Problem<T>& problem, Tile<T> dx) {
    normalise_backward<T>(queue, problem.norm(kind), problem.x.input_view(),
                          problem.dy.input_view(), problem.residual.input_view(), dx,
                          problem.clear_gradient(kind));
}

TEST_P(NormBackwardOn, GivesNumbersOfTheFormulas) {
    // x = (-1, 1), dy = (1, 0), weight (2, 1), hardly an eps: layer norm has mean 0, r = 1, h = x,
    // g = (2, 0), mean(g) = 1, mean(g h) = -1, dx = g - 1 + h = (0, 0).
    const float weight[] = {2, 1}, bias[] = {0, 0};
    TileBox<float> x(TileBox<float>::input, 2, 1), dy(TileBox<float>::input, 2, 1),
        dx(TileBox<float>::output, 2, 1);
    x.fill([](int64_t c, int64_t) { return 2 * c - 1; });
    dy.fill([](int64_t c, int64_t) { return 1 - c; });
    double dweight[] = {10, 0}, dbias[] = {20, 0};
    Traps traps;
    normalise_backward<float>(queue(), {NormKind::layer, 1e-12f, weight, bias}, x.input_view(),
                              dy.input_view(), {}, dx.view(), {dweight, dbias});
    EXPECT_NEAR(dx.view()(0, 0), 0, 1e-6);
    EXPECT_NEAR(dx.view()(1, 0), 0, 1e-6);
    EXPECT_NEAR(dweight[0], 9, 1e-6);
    EXPECT_NEAR(dweight[1], 0, 1e-6);
    EXPECT_NEAR(dbias[0], 21, 1e-6);
    // rms: the same without mean(g): dx = g + h = (1, 1).
    normalise_backward<float>(queue(), {NormKind::rms, 1e-12f, weight, nullptr}, x.input_view(),
                              dy.input_view(), dy.input_view(), dx.view(), {dweight, nullptr});
    EXPECT_NEAR(dx.view()(0, 0), 1 + 1, 1e-6);
    EXPECT_NEAR(dx.view()(1, 0), 1 + 0, 1e-6);
    EXPECT_NEAR(dweight[0], 8, 1e-6);
}

TEST(NormBackwardReference, AgreesWithDifferences) {
    auto random = generator();
    for (int64_t n_point : {1, 3, 31, 33, 64, 65}) {
        for (int64_t n_channel : {1, 3, 31, 64})
            for (NormKind kind : kinds) {
                Problem<double> problem({n_point, {}}, n_channel);
                problem.fill(random);
                problem.eps = 0.25;  // where all channels agree, y bends over sqrt(eps)
                TileBox<double> y(TileBox<double>::output, n_channel, n_point),
                    dx(TileBox<double>::output, n_channel, n_point);
                ref::normalise_backward<double>(problem.norm(kind), problem.x.input_view(),
                                                problem.dy.input_view(), {}, dx.view(),
                                                problem.clear_gradient(kind));
                const auto loss = [&] {
                    ref::normalise<double>(problem.norm(kind), problem.x.input_view(), y.view());
                    return inner_product(problem.dy.input_view(), y.view());
                };
                const int64_t n_parameter = kind == NormKind::layer ? 2 * n_channel : n_channel;
                expect_slopes("parameter", problem.parameters.data(), problem.gradient.data(),
                              n_parameter, loss, 1e-8);
                for (int64_t c : {int64_t(0), n_channel / 2, n_channel - 1})
                    expect_slopes("x", &problem.x.view()(c, 0), &dx.view()(c, 0), n_point, loss,
                                  1e-8);
            }
    }
}

TEST_P(NormBackwardOn, AgreesWithDoubleOnAwkwardTiles) {
    auto random = generator();
    for (const TileCase& tile : tile_cases) {
        for (int64_t n_channel : {1, 3, 31, 40, 64})
            for (NormKind kind : kinds) {
                Problem<float> problem(tile, n_channel);
                Problem<double> problem64({tile.n_point, {}}, n_channel);
                problem.fill(random, 100);
                problem64.fill_from(problem);
                TileBox<float> dx(TileBox<float>::output, n_channel, tile.n_point, tile.layout);
                TileBox<double> dx64(TileBox<double>::output, n_channel, tile.n_point);
                {
                    Traps traps;
                    backward<float>(queue(), kind, problem, dx.view());
                    backward<double>(Queue(), kind, problem64, dx64.view());
                }
                // Without the residual dx is below r times 10, and r is at most 1 / sqrt(eps) = 32.
                // h is below sqrt(n_channel), sums have n_point terms.
                const double n = static_cast<double>(n_channel);
                const double n_term = static_cast<double>(tile.n_point);
                expect_close<float>(dx.view(), dx64.view(), epsilon<float> * n * 32);
                expect_close<double>(problem.gradients(), problem64.gradients(),
                                     epsilon<float> * n * n_term);
                dx.expect_kept_inside("dx");
                problem.x.expect_unchanged("x");
                problem.dy.expect_unchanged("dy");
                problem.residual.expect_unchanged("residual");
            }
    }
}

TEST_P(NormBackwardOn, WorksInPlaceOfAnyInput) {
    auto random = generator();
    for (NormKind kind : kinds) {
        Problem<float> problem({65, {}}, 40);
        problem.fill(random);
        TileBox<float> dx(TileBox<float>::output, 40, 65);
        backward<float>(queue(), kind, problem, dx.view());
        const Buffer<double> gradient = std::move(problem.gradient);
        for (TileBox<float> Problem<float>::*input :
             {&Problem<float>::x, &Problem<float>::dy, &Problem<float>::residual}) {
            Problem<float> copy({65, {}}, 40);
            copy.fill_from(problem);
            backward<float>(queue(), kind, copy, (copy.*input).view());
            expect_same_bits<float>((copy.*input).view(), dx.view());
            expect_same_bits<double>(copy.gradients(), make_view(gradient.data(), 2, 40));
        }
    }
}

/// y does not change if all channels of x grow by one number (layer), and hardly if they grow by
/// one factor.
TEST_P(NormBackwardOn, GradientIsNormalToWhatTheNormRemoves) {
    auto random = generator();
    for (NormKind kind : kinds) {
        Problem<float> problem({33, {}}, 31);
        problem.fill(random, 100);  // eps is small beside the variance
        TileBox<float> dx(TileBox<float>::output, 31, 33);
        normalise_backward<float>(queue(), problem.norm(kind), problem.x.input_view(),
                                  problem.dy.input_view(), {}, dx.view(),
                                  problem.clear_gradient(kind));
        for (int64_t i = 0; i < 33; ++i) {
            double sum = 0, along_x = 0;
            for (int64_t c = 0; c < 31; ++c) {
                sum += dx.view()(c, i);
                along_x += dx.view()(c, i) * problem.x.view()(c, i);
            }
            // dx is about 0.01, x about 100.
            if (kind == NormKind::layer) {
                EXPECT_LE(std::abs(sum), 31 * 0.1 * epsilon<float>);
            }
            EXPECT_LE(std::abs(along_x), 31 * 16 * epsilon<float>);
        }
    }
}

TEST_P(NormBackwardOn, CutsIntoTilesAgree) {
    auto random = generator();
    Problem<float> problem({200, {}}, 24);
    problem.fill(random);
    for (NormKind kind : kinds) {
        TileBox<float> whole(TileBox<float>::output, 24, 200), dx(TileBox<float>::output, 24, 200);
        backward<float>(queue(), kind, problem, whole.view());
        Buffer<double> gradient(48);
        std::copy(problem.gradient.begin(), problem.gradient.end(), gradient.begin());
        for (int64_t step : {64, 16}) {
            const NormGradient sums = problem.clear_gradient(kind);
            for (int64_t first = 0; first < 200; first += step) {
                const auto some = [&](auto tile) {
                    return points(tile, first, std::min<int64_t>(step, 200 - first));
                };
                normalise_backward<float>(queue(), problem.norm(kind), some(problem.x.input_view()),
                                          some(problem.dy.input_view()),
                                          some(problem.residual.input_view()), some(dx.view()),
                                          sums);
            }
            expect_same_bits<float>(dx.view(), whole.view());
            const double bound = step == tile_points ? 0 : 4 * epsilon<float> * 200;
            expect_close<double>(problem.gradients(), make_view(gradient.data(), 2, 24), bound);
        }
    }
}

TEST_P(NormBackwardOn, NaNStaysAtItsPoint) {
    auto random = generator();
    for (NormKind kind : kinds) {
        Problem<float> problem({19, {}}, 3);
        problem.fill(random);
        problem.x.view()(1, 17) = NAN;
        TileBox<float> dx(TileBox<float>::output, 3, 19);
        backward<float>(queue(), kind, problem, dx.view());
        for (int64_t c = 0; c < 3; ++c) {
            for (int64_t i = 0; i < 19; ++i) EXPECT_EQ(std::isnan(dx.view()(c, i)), i == 17);
            EXPECT_TRUE(std::isnan(problem.gradient[c]));
        }
    }
}

TEST(NormBackwardLevels, GiveTheSameBits) {
    auto random = generator();
    for (const TileCase& tile : tile_cases) {
        for (NormKind kind : kinds) {
            Problem<float> one(tile, 40);
            one.fill(random);
            TileBox<float> dx_one(TileBox<float>::output, 40, tile.n_point),
                dx(TileBox<float>::output, 40, tile.n_point);
            backward<float>(Queue(Backend::simd, VectorLevel::scalar, 1), kind, one, dx_one.view());
            for (VectorLevel level : wide_levels()) {
                Problem<float> wide(tile, 40);
                wide.fill_from(one);
                backward<float>(Queue(Backend::simd, level, 1), kind, wide, dx.view());
                expect_same_bits<float>(dx.view(), dx_one.view());
                expect_same_bits<double>(wide.gradients(), one.gradients());
            }
        }
    }
}

}  // namespace
}  // namespace surrogate::kernels::test
