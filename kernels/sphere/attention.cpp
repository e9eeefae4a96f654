// SPDX-License-Identifier: Apache-2.0
#include "kernels/sphere/attention.hpp"

#include "kernels/base/dispatch.hpp"

namespace surrogate::kernels::sphere {

template <class T>
void attend_neighbors(const Queue& queue, const Heads& heads,
                      std::span<const NeighborhoodRow<T>> rows, int64_t first_column,
                      Rings<const T> k, Rings<const T> v, const T* weight, T* scratch) {
    if (!uses_simd<T>(queue, "attend_neighbors"))
        return ref::attend_neighbors(heads, rows, first_column, k, v, weight, scratch);
    if constexpr (std::is_same_v<T, float>)
        simd::attend_neighbors(queue.level(), heads, rows, first_column, k, v, weight, scratch);
}

template <class T>
void normalise_heads(const Queue& queue, int64_t n_head, const T* g, Tile<const T> x, Tile<T> y) {
    if (!uses_simd<T>(queue, "normalize_heads")) return ref::normalise_heads(n_head, g, x, y);
    if constexpr (std::is_same_v<T, float>) simd::normalise_heads(queue.level(), n_head, g, x, y);
}

int64_t neighborhood_scratch(const Heads& heads, int64_t n_neighbor) {
    return tile_points * (heads.n_key_dim + lane_count + 2 * n_neighbor);
}

template void attend_neighbors(const Queue&, const Heads&, std::span<const NeighborhoodRow<float>>,
                               int64_t, Rings<const float>, Rings<const float>, const float*,
                               float*);
template void normalise_heads(const Queue&, int64_t, const float*, Tile<const float>, Tile<float>);
template void attend_neighbors(const Queue&, const Heads&, std::span<const NeighborhoodRow<double>>,
                               int64_t, Rings<const double>, Rings<const double>, const double*,
                               double*);
template void normalise_heads(const Queue&, int64_t, const double*, Tile<const double>,
                              Tile<double>);

}  // namespace surrogate::kernels::sphere
