// SPDX-License-Identifier: Apache-2.0
#include "kernels/mlp/mlp.hpp"

#include "tests/kernels/mlp/chain.hpp"

namespace surrogate::kernels::test {
namespace {

class MlpOn : public OnTarget {};
SURROGATE_ON_ALL_TARGETS(MlpOn);

TEST(MlpReference, GivesNumbersOfTheFormulas) {
    // Width 1, identity: a = 2x + 1 + x, then a = a + 3a, then y = a - 1 + a. With x = 1: 4, 16,
    // 31.
    const double parameters[] = {2, 1, 3, 0, 1, -1};
    const Linear<double> layers[] = {{1, 1, &parameters[0], &parameters[1]},
                                     {1, 1, &parameters[2], &parameters[3]},
                                     {1, 1, &parameters[4], &parameters[5]}};
    TileBox<double> x(TileBox<double>::input, 1, 1), scratch(TileBox<double>::output, 2, 1),
        y(TileBox<double>::input, 1, 1);
    x.fill([](int64_t, int64_t) { return 1; });
    y.fill([](int64_t, int64_t) { return 1000; });
    ResidualMlp<double> mlp{layers, Activation::identity, true, true};
    ref::residual_mlp<double>(mlp, x.input_view(), scratch.view(), true, y.view());
    EXPECT_EQ(y.view()(0, 0), 1031);
    mlp.residual_in = false;  // 3, 12, 23
    ref::residual_mlp<double>(mlp, x.input_view(), scratch.view(), false, y.view());
    EXPECT_EQ(y.view()(0, 0), 23);
    mlp.residual_out = false;  // 3, 12, 11
    ref::residual_mlp<double>(mlp, x.input_view(), scratch.view(), false, y.view());
    EXPECT_EQ(y.view()(0, 0), 11);
    mlp.layers = mlp.layers.first(1);
    ref::residual_mlp<double>(mlp, x.input_view(), scratch.view(), false, y.view());
    EXPECT_EQ(y.view()(0, 0), 3);
}

template <class T>
void run(const Queue& queue, const ResidualMlp<T>& mlp, bool accumulate, Layout layout,
         TileBox<T>& x, TileBox<T>& y) {
    TileBox<T> scratch(TileBox<T>::output, 2 * mlp.n_hidden(), x.view().shape[1], layout);
    {
        Traps traps;
        residual_mlp<T>(queue, mlp, x.input_view(), scratch.view(), accumulate, y.view());
    }
    x.expect_unchanged("x");
    y.expect_kept_inside("y");
    scratch.expect_kept_inside("scratch");
}

TEST_P(MlpOn, AgreesWithDoubleOnAwkwardTiles) {
    auto random = generator();
    const Queue reference(Backend::ref, VectorLevel::scalar, 1);
    for (const Chain& chain : chains) {
        const ChainWeights weights(chain, random);
        for (const TileCase& tile : tile_cases) {
            for (bool accumulate : {false, true}) {
                const auto kind = accumulate ? TileBox<float>::input : TileBox<float>::output;
                const auto kind64 = accumulate ? TileBox<double>::input : TileBox<double>::output;
                TileBox<float> x(TileBox<float>::input, chain.widths.front(), tile.n_point,
                                 tile.layout);
                TileBox<double> x64(TileBox<double>::input, chain.widths.front(), tile.n_point);
                TileBox<float> y(kind, chain.widths.back(), tile.n_point, tile.layout);
                TileBox<double> y64(kind64, chain.widths.back(), tile.n_point);
                x.fill_normal(random);
                x64.fill_from(x);
                if (accumulate) y.fill_normal(random);
                if (accumulate) y64.fill_from(y);
                run<float>(queue(), weights.single(), accumulate, tile.layout, x, y);
                run<double>(reference, weights.reference(), accumulate, {}, x64, y64);
                // Rounding grows with the number of layers; values stay below about 10.
                const double depth = static_cast<double>(chain.widths.size());
                expect_close<float>(y.view(), y64.view(), 8 * epsilon<float> * depth * 10);
            }
        }
    }
}

TEST(MlpLevels, GiveTheSameBits) {
    auto random = generator();
    for (const Chain& chain : chains) {
        const ChainWeights weights(chain, random);
        for (int64_t n_point : {1, 33, 64, 65}) {
            TileBox<float> x(TileBox<float>::input, chain.widths.front(), n_point);
            TileBox<float> one(TileBox<float>::output, chain.widths.back(), n_point);
            TileBox<float> y(TileBox<float>::output, chain.widths.back(), n_point);
            x.fill_normal(random);
            run<float>(Queue(Backend::simd, VectorLevel::scalar, 1), weights.single(), false, {}, x,
                       one);
            for (VectorLevel level : wide_levels()) {
                run<float>(Queue(Backend::simd, level, 1), weights.single(), false, {}, x, y);
                expect_same_bits<float>(y.view(), one.view());
            }
        }
    }
}

}  // namespace
}  // namespace surrogate::kernels::test
