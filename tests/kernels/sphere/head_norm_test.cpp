// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <vector>

#include "kernels/sphere/attention.hpp"
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

}  // namespace
}  // namespace surrogate::kernels::sphere::test
