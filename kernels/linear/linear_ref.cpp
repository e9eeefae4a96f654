// SPDX-License-Identifier: Apache-2.0
#include "kernels/linear/linear.hpp"

namespace surrogate::kernels::ref {

template <class T>
void linear(const Linear<T>& layer, Tile<const T> x, Tile<const T> residual, Tile<T> y) {
    for (int64_t o = 0; o < layer.n_out; ++o) {
        for (int64_t i = 0; i < x.shape[1]; ++i) {
            T sum = layer.bias ? layer.bias[o] : T(0);
            for (int64_t c = 0; c < layer.n_in; ++c)
                sum += layer.weight[o * layer.n_in + c] * x(c, i);
            if (residual.data) sum += residual(o, i);
            y(o, i) = sum;
        }
    }
}

template void linear(const Linear<float>&, Tile<const float>, Tile<const float>, Tile<float>);
template void linear(const Linear<double>&, Tile<const double>, Tile<const double>, Tile<double>);

}  // namespace surrogate::kernels::ref
