// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <vector>

#include "kernels/sphere/attention_backward.hpp"
#include "tests/kernels/base/slope.hpp"
#include "tests/kernels/base/tile_box.hpp"

namespace surrogate::kernels::sphere::test {
namespace {

using namespace surrogate::kernels::test;

class HeadNormOn : public OnTarget {};
SURROGATE_ON_ALL_TARGETS(HeadNormOn);

/// Plain evaluation in double.
double normalised(const TileBox<float>& x, const std::vector<float>& g, int64_t c, int64_t i) {
    const auto n_dim = static_cast<int64_t>(g.size()), first = c / n_dim * n_dim;
    double square = 0;
    for (int64_t j = first; j < first + n_dim; ++j)
        square += static_cast<double>(x.input_view()(j, i)) * x.input_view()(j, i);
    const double scale = 1 / std::sqrt(square / static_cast<double>(n_dim) + 0x1p-23);
    return x.input_view()(c, i) * scale * (1.0 + g[static_cast<size_t>(c - first)]);
}

TEST_P(HeadNormOn, AgreesWithDoubleAndWorksInPlace) {
    auto random = generator();
    for (const TileCase& tile : tile_cases) {
        for (const auto& [n_head, n_dim] :
             std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {3, 5}, {2, 16}, {1, 128}}) {
            std::vector<float> g(static_cast<size_t>(n_dim));
            for (size_t c = 0; c < g.size(); ++c) g[c] = 0.3f * std::sin(static_cast<float>(c));
            TileBox<float> x(TileBox<float>::input, n_head * n_dim, tile.n_point, tile.layout);
            TileBox<float> y(TileBox<float>::output, n_head * n_dim, tile.n_point, tile.layout);
            x.fill_normal(random, 20);
            {
                Traps traps;
                normalise_heads<float>(queue(), n_head, g.data(), x.input_view(), y.view());
            }
            y.expect_kept_inside("y");
            x.expect_unchanged("x");
            const double root = std::sqrt(static_cast<double>(n_dim));
            for (int64_t c = 0; c < n_head * n_dim; ++c)
                for (int64_t i = 0; i < tile.n_point; ++i)
                    ASSERT_NEAR(y.view()(c, i), normalised(x, g, c, i),
                                8 * epsilon<float> * root * root);
            normalise_heads<float>(queue(), n_head, g.data(), x.input_view(), x.view());
            expect_same_bits<float>(x.view(), y.view());
        }
    }
}

TEST_P(HeadNormOn, OfZeroIsZero) {
    TileBox<float> x(TileBox<float>::input, 4, 3), y(TileBox<float>::output, 4, 3);
    x.fill([](int64_t, int64_t) { return 0; });
    const float g[] = {0.5f, -0.5f};
    Traps traps;
    normalise_heads<float>(queue(), 2, g, x.input_view(), y.view());
    for (int64_t c = 0; c < 4; ++c) EXPECT_EQ(y.view()(c, 2), 0);
}

/// A tile of heads with its norm, and the gradient of the result.
struct Step {
    Step(int64_t n_head, int64_t n_dim, int64_t n_point, std::mt19937& random)
        : heads(n_head),
          x(TileBox<double>::input, n_head * n_dim, n_point),
          dy(TileBox<double>::input, n_head * n_dim, n_point),
          dx(TileBox<double>::output, n_head * n_dim, n_point) {
        x.fill_normal(random, 2);
        dy.fill_normal(random);
        for (int64_t c = 0; c < n_dim; ++c)
            g.push_back(static_cast<float>(0.3 * std::sin(static_cast<double>(c))));
        dg.assign(g.size(), 0.5);
        std::vector<double> scratch(g.size());
        normalise_heads_backward<double>(reference, heads, g.data(), x.input_view(),
                                         dy.input_view(), dx.view(), dg.data(), scratch.data());
    }
    double loss() const {
        TileBox<double> y(TileBox<double>::output, x.input_view().shape[0],
                          x.input_view().shape[1]);
        normalise_heads<double>(reference, heads, g.data(), x.input_view(), y.view());
        return inner_product(dy.input_view(), y.input_view());
    }

    double inverse_root(int64_t c, int64_t i) const {
        const auto n_dim = static_cast<int64_t>(g.size()), first = c / n_dim * n_dim;
        double square = 0;
        for (int64_t j = first; j < first + n_dim; ++j)
            square += x.input_view()(j, i) * x.input_view()(j, i);
        return 1 / std::sqrt(square / static_cast<double>(n_dim) + 0x1p-23);
    }

    inline static const Queue reference{Backend::ref, VectorLevel::scalar, 1};
    int64_t heads;
    TileBox<double> x, dy, dx;
    std::vector<double> g, dg;
};

TEST(HeadNormBackwardReference, AgreesWithDifferences) {
    auto random = generator();
    Step step(3, 5, 7, random);
    for (int64_t c = 0; c < 15; ++c)
        for (int64_t i = 0; i < 7; ++i)
            ASSERT_NEAR(step.dx.view()(c, i),
                        slope(step.x.view()(c, i), [&] { return step.loss(); }), 1e-9);
    for (size_t c = 0; c < 5; ++c)
        ASSERT_NEAR(step.dg[c] - 0.5, slope(step.g[c], [&] { return step.loss(); }), 1e-9);
}

TEST_P(HeadNormOn, GradientAgreesWithDoubleAndWorksInPlace) {
    auto random = generator();
    for (int64_t n_point : {1, 17, 64, 200}) {
        for (const auto& [n_head, n_dim] :
             std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {3, 5}, {2, 16}, {1, 128}}) {
            const Step step(n_head, n_dim, n_point, random);
            TileBox<float> x(TileBox<float>::input, n_head * n_dim, n_point, {1, 3}),
                dy(TileBox<float>::input, n_head * n_dim, n_point, {0, 2});
            x.fill_from(step.x);
            dy.fill_from(step.dy);
            const std::vector<float> g(step.g.begin(), step.g.end());
            std::vector<double> dg(g.size(), 0.5);
            std::vector<float> scratch(g.size());
            {
                Traps traps;
                normalise_heads_backward<float>(queue(), n_head, g.data(), x.input_view(),
                                                dy.input_view(), dy.view(), dg.data(),
                                                scratch.data());
            }
            dy.expect_kept_inside("dx");
            x.expect_unchanged("x");
            const double bound = 16 * epsilon<float> * std::sqrt(static_cast<double>(n_dim));
            double largest = 1;  // of r dy (1 + g): heads of one channel leave little of it
            for (int64_t c = 0; c < n_head * n_dim; ++c) {
                for (int64_t i = 0; i < n_point; ++i)
                    largest = std::max(largest, std::abs(1.3 * step.dy.input_view()(c, i) *
                                                         step.inverse_root(c, i)));
            }
            expect_close<float>(dy.view(), step.dx.input_view(), bound * largest);
            for (size_t c = 0; c < dg.size(); ++c)
                ASSERT_NEAR(dg[c], step.dg[c],
                            bound * std::sqrt(static_cast<double>(n_point * n_head)) * 8);
        }
    }
}

}  // namespace
}  // namespace surrogate::kernels::sphere::test
