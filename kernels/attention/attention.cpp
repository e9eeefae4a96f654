// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/attention.hpp"

#include <algorithm>
#include <limits>

#include "kernels/base/dispatch.hpp"

namespace surrogate::kernels {
namespace {

/// Below every score, with room to subtract from it without overflow.
template <class T>
constexpr T lowest_score = std::numeric_limits<T>::lowest() / 16 * 15;

}  // namespace

template <class T>
void reset(SoftmaxState<T> state) {
    for (int64_t h = 0; h < state.heads.n_head; ++h) {
        std::fill_n(state.maximum(h), tile_points, lowest_score<T>);
        std::fill_n(state.sum(h), (state.heads.n_value_dim + 1) * tile_points, T(0));
    }
}

template <class T>
void attend(const Queue& queue, const Heads& heads, Tile<const T> q, Tile<const T> k,
            Tile<const T> v, T w, const DistanceBias<T>& bias, T* scratch, SoftmaxState<T> state) {
    if (!uses_simd<T>(queue, "attend")) return ref::attend(heads, q, k, v, w, bias, state);
    if constexpr (std::is_same_v<T, float>)
        simd::attend(queue.level(), heads, q, k, v, w, bias, scratch, state);
}

int64_t attend_scratch(const Heads&) {
    return lane_count * 128;
}

template <class T>
void finish(const Queue&, SoftmaxState<T> state, Tile<T> y) {
    const int64_t n_dim = state.heads.n_value_dim, n_query = y.shape[1];
    T inverse[tile_points];
    for (int64_t h = 0; h < state.heads.n_head; ++h) {
        // Without keys the sum and all values are 0.
        for (int64_t i = 0; i < n_query; ++i)
            inverse[i] = 1 / (state.sum(h)[i] == 0 ? T(1) : state.sum(h)[i]);
        for (int64_t c = 0; c < n_dim; ++c) {
            const T* value = state.value(h) + c * tile_points;
            T* out = y.data + (h * n_dim + c) * y.stride[0];
            for (int64_t i = 0; i < n_query; ++i) out[i] = value[i] * inverse[i];
        }
    }
}

#define SURROGATE_ATTENTION(T)                                                                    \
    template void reset(SoftmaxState<T>);                                                         \
    template void attend(const Queue&, const Heads&, Tile<const T>, Tile<const T>, Tile<const T>, \
                         T, const DistanceBias<T>&, T*, SoftmaxState<T>);                         \
    template void finish(const Queue&, SoftmaxState<T>, Tile<T>);
SURROGATE_ATTENTION(float)
SURROGATE_ATTENTION(double)
#undef SURROGATE_ATTENTION

}  // namespace surrogate::kernels
