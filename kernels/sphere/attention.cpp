// SPDX-License-Identifier: Apache-2.0
#include "kernels/sphere/attention.hpp"

#include <algorithm>
#include <limits>

#include "kernels/base/dispatch.hpp"

namespace surrogate::kernels::sphere {
namespace {

/// Below every score, with room to subtract from it without overflow.
template <class T>
constexpr T lowest_score = std::numeric_limits<T>::lowest() / 16 * 15;

}  // namespace

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
void reset(GlobalState<T> state) {
    for (int64_t h = 0; h < state.heads.n_head; ++h) {
        std::fill_n(state.maximum(h), tile_points, lowest_score<T>);
        std::fill_n(state.sum(h), (state.heads.n_value_dim + 1) * tile_points, T(0));
    }
}

template <class T>
void attend_all(const Queue& queue, const Heads& heads, Tile<const T> q, Tile<const T> k,
                Tile<const T> v, T w, T* scratch, GlobalState<T> state) {
    if (!uses_simd<T>(queue, "attend_all"))
        return ref::attend_all(heads, q, k, v, w, scratch, state);
    if constexpr (std::is_same_v<T, float>)
        simd::attend_all(queue.level(), heads, q, k, v, w, scratch, state);
}

template <class T>
void finish(const Queue&, GlobalState<T> state, Tile<T> y) {
    const int64_t n_dim = state.heads.n_value_dim, n_query = y.shape[1];
    T inverse[tile_points];
    for (int64_t h = 0; h < state.heads.n_head; ++h) {
        for (int64_t i = 0; i < n_query; ++i) inverse[i] = 1 / state.sum(h)[i];
        for (int64_t c = 0; c < n_dim; ++c) {
            const T* value = state.value(h) + c * tile_points;
            T* out = y.data + (h * n_dim + c) * y.stride[0];
            for (int64_t i = 0; i < n_query; ++i) out[i] = value[i] * inverse[i];
        }
    }
}

template <class T>
void normalise_heads(const Queue& queue, int64_t n_head, const T* g, Tile<const T> x, Tile<T> y) {
    if (!uses_simd<T>(queue, "normalise_heads")) return ref::normalise_heads(n_head, g, x, y);
    if constexpr (std::is_same_v<T, float>) simd::normalise_heads(queue.level(), n_head, g, x, y);
}

int64_t neighborhood_scratch(const Heads& heads, int64_t n_neighbor) {
    return tile_points * (heads.n_key_dim + lane_count + 2 * n_neighbor);
}

int64_t global_scratch(const Heads&) {
    return lane_count * 128;
}

template void attend_neighbors(const Queue&, const Heads&, std::span<const NeighborhoodRow<float>>,
                               int64_t, Rings<const float>, Rings<const float>, const float*,
                               float*);
template void reset(GlobalState<float>);
template void attend_all(const Queue&, const Heads&, Tile<const float>, Tile<const float>,
                         Tile<const float>, float, float*, GlobalState<float>);
template void finish(const Queue&, GlobalState<float>, Tile<float>);
template void normalise_heads(const Queue&, int64_t, const float*, Tile<const float>, Tile<float>);
template void attend_neighbors(const Queue&, const Heads&, std::span<const NeighborhoodRow<double>>,
                               int64_t, Rings<const double>, Rings<const double>, const double*,
                               double*);
template void reset(GlobalState<double>);
template void attend_all(const Queue&, const Heads&, Tile<const double>, Tile<const double>,
                         Tile<const double>, double, double*, GlobalState<double>);
template void finish(const Queue&, GlobalState<double>, Tile<double>);
template void normalise_heads(const Queue&, int64_t, const double*, Tile<const double>,
                              Tile<double>);

}  // namespace surrogate::kernels::sphere
