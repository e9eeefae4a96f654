// SPDX-License-Identifier: Apache-2.0
#include "kernels/mlp/mlp.hpp"

#include "kernels/base/dispatch.hpp"

namespace surrogate::kernels {

template <class T>
void residual_mlp(const Queue& queue, const ResidualMlp<T>& mlp, Tile<const T> x, Tile<T> scratch,
                  bool accumulate, Tile<T> y) {
    if (!uses_simd<T>(queue, "residual_mlp"))
        return ref::residual_mlp(mlp, x, scratch, accumulate, y);
    if constexpr (std::is_same_v<T, float>)
        simd::residual_mlp(queue.level(), mlp, x, scratch, accumulate, y);
}

template <class T>
void residual_mlp_forward(const Queue& queue, const ResidualMlp<T>& mlp, Tile<const T> x,
                          Tile<T> saved, bool accumulate, Tile<T> y) {
    if (!uses_simd<T>(queue, "residual_mlp_forward"))
        return ref::residual_mlp_forward(mlp, x, saved, accumulate, y);
    if constexpr (std::is_same_v<T, float>)
        simd::residual_mlp_forward(queue.level(), mlp, x, saved, accumulate, y);
}

template void residual_mlp(const Queue&, const ResidualMlp<float>&, Tile<const float>, Tile<float>,
                           bool, Tile<float>);
template void residual_mlp(const Queue&, const ResidualMlp<double>&, Tile<const double>,
                           Tile<double>, bool, Tile<double>);
template void residual_mlp_forward(const Queue&, const ResidualMlp<float>&, Tile<const float>,
                                   Tile<float>, bool, Tile<float>);
template void residual_mlp_forward(const Queue&, const ResidualMlp<double>&, Tile<const double>,
                                   Tile<double>, bool, Tile<double>);

}  // namespace surrogate::kernels
