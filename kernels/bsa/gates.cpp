// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/dispatch.hpp"
#include "kernels/bsa/bsa.hpp"

namespace surrogate::kernels::bsa {

template <class T>
void combine(const Queue& queue, int64_t n_head, Tile<const T> gate,
             std::span<const Tile<const T>> branches, Tile<T> y) {
    uses_simd<T>(queue, "combine");
    ref::combine(n_head, gate, branches, y);
}

template <class T>
void combine_backward(const Queue& queue, int64_t n_head, Tile<const T> gate,
                      std::span<const Tile<const T>> branches, Tile<const T> dy,
                      std::span<const Tile<T>> dbranches, Tile<T> dgate) {
    uses_simd<T>(queue, "combine_backward");
    ref::combine_backward(n_head, gate, branches, dy, dbranches, dgate);
}

template void combine(const Queue&, int64_t, Tile<const float>, std::span<const Tile<const float>>,
                      Tile<float>);
template void combine(const Queue&, int64_t, Tile<const double>,
                      std::span<const Tile<const double>>, Tile<double>);
template void combine_backward(const Queue&, int64_t, Tile<const float>,
                               std::span<const Tile<const float>>, Tile<const float>,
                               std::span<const Tile<float>>, Tile<float>);
template void combine_backward(const Queue&, int64_t, Tile<const double>,
                               std::span<const Tile<const double>>, Tile<const double>,
                               std::span<const Tile<double>>, Tile<double>);

}  // namespace surrogate::kernels::bsa
