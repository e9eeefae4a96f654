// SPDX-License-Identifier: Apache-2.0
#include "kernels/mlp/mlp.hpp"

#include "tests/kernels/base/tile_box.hpp"

namespace surrogate::kernels::test {
namespace {

class MlpOn : public OnTarget {};
SURROGATE_ON_ALL_TARGETS(MlpOn);

struct Chain {
    std::vector<int64_t> widths;
    Activation activation;
    bool residual_in, residual_out;
};
const std::vector<Chain> chains = {
    {{3, 5}, Activation::gelu_tanh, true, true},      // one layer, widths differ
    {{8, 8}, Activation::gelu_tanh, true, true},      // one layer, residual
    {{8, 8}, Activation::gelu_tanh, true, false},     // one layer, residual switched off
    {{3, 8, 1}, Activation::silu, true, true},        // residuals switch themselves off
    {{8, 8, 8}, Activation::gelu_tanh, false, true},  // input side off by option
    {{64, 64, 64, 64, 64, 64},
     Activation::gelu_tanh,
     true,
     true},                                                // K, V and FFN of the published models
    {{40, 20, 20, 20, 40}, Activation::silu, true, true},  // narrow hidden layers
    {{2, 40, 40, 1}, Activation::identity, true, false},
};

/// Random weights of all layers, scaled so that values keep their size, in both precisions.
class ChainWeights {
public:
    ChainWeights(const Chain& chain, std::mt19937& random) : chain_(chain) {
        std::normal_distribution<float> normal;
        for (size_t j = 0; j + 1 < chain.widths.size(); ++j) {
            const int64_t n_in = chain.widths[j], n_out = chain.widths[j + 1];
            single_.emplace_back(n_out * (n_in + 1));
            reference_.emplace_back(n_out * (n_in + 1));
            const float scale = 0.5f / std::sqrt(static_cast<float>(n_in));
            for (int64_t i = 0; i < single_[j].size(); ++i)
                reference_[j][i] = single_[j][i] = scale * normal(random);
            layers_.push_back({n_in, n_out, single_[j].data(), single_[j].data() + n_in * n_out});
            layers64_.push_back(
                {n_in, n_out, reference_[j].data(), reference_[j].data() + n_in * n_out});
        }
    }
    ResidualMlp<float> single() const {
        return {layers_, chain_.activation, chain_.residual_in, chain_.residual_out};
    }
    ResidualMlp<double> reference() const {
        return {layers64_, chain_.activation, chain_.residual_in, chain_.residual_out};
    }

private:
    Chain chain_;
    std::vector<Buffer<float>> single_;
    std::vector<Buffer<double>> reference_;
    std::vector<Linear<float>> layers_;
    std::vector<Linear<double>> layers64_;
};

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
