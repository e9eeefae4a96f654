// SPDX-License-Identifier: Apache-2.0
#include "kernels/flare/gradient.hpp"

#include "kernels/base/dispatch.hpp"

namespace surrogate::kernels::flare {

template <class T>
void decode_backward(const Queue& queue, const Queries<T>& queries, Tile<const T> k, const T* z,
                     Tile<const T> dy, Tile<T> y, Tile<T> of_points, LatentSums<T> dz) {
    if (!uses_simd<T>(queue, "flare::decode_backward"))
        return ref::decode_backward(queries, k, z, dy, y, of_points, dz);
    if constexpr (std::is_same_v<T, float>)
        simd::decode_backward(queue.level(), queries, k, z, dy, y, of_points, dz);
}

template <class T>
void mix_backward(const Queue& queue, const Queries<T>& queries, const LatentSide<T>& latents,
                  Tile<const T> k, Tile<const T> v, Tile<const T> dy, Tile<const T> of_points,
                  Tile<T> dk, Tile<T> dv, LatentSums<T> dq, const T* log_weight) {
    if (!uses_simd<T>(queue, "flare::mix_backward"))
        return ref::mix_backward(queries, latents, k, v, dy, of_points, dk, dv, dq, log_weight);
    if constexpr (std::is_same_v<T, float>)
        simd::mix_backward(queue.level(), queries, latents, k, v, dy, of_points, dk, dv, dq,
                           log_weight);
}

template void decode_backward(const Queue&, const Queries<float>&, Tile<const float>, const float*,
                              Tile<const float>, Tile<float>, Tile<float>, LatentSums<float>);
template void decode_backward(const Queue&, const Queries<double>&, Tile<const double>,
                              const double*, Tile<const double>, Tile<double>, Tile<double>,
                              LatentSums<double>);
template void mix_backward(const Queue&, const Queries<float>&, const LatentSide<float>&,
                           Tile<const float>, Tile<const float>, Tile<const float>,
                           Tile<const float>, Tile<float>, Tile<float>, LatentSums<float>,
                           const float*);
template void mix_backward(const Queue&, const Queries<double>&, const LatentSide<double>&,
                           Tile<const double>, Tile<const double>, Tile<const double>,
                           Tile<const double>, Tile<double>, Tile<double>, LatentSums<double>,
                           const double*);

}  // namespace surrogate::kernels::flare
