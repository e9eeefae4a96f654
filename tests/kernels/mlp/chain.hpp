// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "kernels/mlp/mlp.hpp"
#include "tests/kernels/base/tile_box.hpp"

namespace surrogate::kernels::test {

struct Chain {
    std::vector<int64_t> widths;
    Activation activation;
    bool residual_in, residual_out;
};
inline const std::vector<Chain> chains = {
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
    {{5, 16, 16, 3}, Activation::tanh, false, false},
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

}  // namespace surrogate::kernels::test
