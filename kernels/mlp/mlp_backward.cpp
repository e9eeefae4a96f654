// SPDX-License-Identifier: Apache-2.0
#include "kernels/mlp/mlp.hpp"

namespace surrogate::kernels {

template <class T>
void residual_mlp_backward(const Queue& queue, const ResidualMlp<T>& mlp, Tile<const T> x,
                           Tile<const T> saved, Tile<const T> dy,
                           std::span<const LinearGradient> gradients, Tile<T> scratch,
                           bool accumulate, Tile<T> dx) {
    const auto& layers = mlp.layers;
    const size_t last = layers.size() - 1;
    const Tile<const T> none;
    Tile<const T> sum_gradient = dy;  // of the current layer, before its activation
    Tile<const T> result_gradient = dy;
    if (last > 0) {
        Tile<T> da = channels(scratch, 0, mlp.n_hidden());
        Tile<T> du = channels(scratch, mlp.n_hidden(), mlp.n_hidden());
        da.shape[1] = du.shape[1] = dy.shape[1];
        linear_gradient<T>(queue, mlp.saved_result(saved, last - 1), dy, gradients[last]);
        linear_backward<T>(queue, layers[last], dy, mlp.adds_hidden() ? dy : none, false, da);
        for (size_t j = last - 1; j > 0; --j) {
            activate_backward<T>(queue, mlp.activation, mlp.saved_sum(saved, j), da, du);
            linear_gradient<T>(queue, mlp.saved_result(saved, j - 1), du, gradients[j]);
            linear_backward<T>(queue, layers[j], du, none, true, da);
        }
        activate_backward<T>(queue, mlp.activation, mlp.saved_sum(saved, 0), da, du);
        sum_gradient = du;
        result_gradient = da;
    }
    linear_gradient<T>(queue, x, sum_gradient, gradients[0]);
    if (!dx.data) return;
    linear_backward<T>(queue, layers[0], sum_gradient, mlp.adds_input() ? result_gradient : none,
                       accumulate, dx);
}

template void residual_mlp_backward(const Queue&, const ResidualMlp<float>&, Tile<const float>,
                                    Tile<const float>, Tile<const float>,
                                    std::span<const LinearGradient>, Tile<float>, bool,
                                    Tile<float>);
template void residual_mlp_backward(const Queue&, const ResidualMlp<double>&, Tile<const double>,
                                    Tile<const double>, Tile<const double>,
                                    std::span<const LinearGradient>, Tile<double>, bool,
                                    Tile<double>);

}  // namespace surrogate::kernels
