// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/attention.hpp"

#include <algorithm>
#include <limits>

#include "kernels/base/dispatch.hpp"

namespace surrogate::kernels {
namespace {

/// A value below every score, from which a score can be subtracted without overflow.
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
    // The backward pass keeps p and ds of 128 rows, for two vectors of lanes.
    return 2 * 2 * lane_count * 128;
}

template <class T>
void finish(const Queue&, SoftmaxState<T> state, Tile<T> y) {
    const int64_t n_dim = state.heads.n_value_dim, n_query = y.shape[1];
    T inverse[tile_points];
    for (int64_t h = 0; h < state.heads.n_head; ++h) {
        // Without keys, the sum and all values are 0.
        for (int64_t i = 0; i < n_query; ++i)
            inverse[i] = 1 / (state.sum(h)[i] == 0 ? T(1) : state.sum(h)[i]);
        for (int64_t c = 0; c < n_dim; ++c) {
            const T* value = state.value(h) + c * tile_points;
            T* out = y.data + (h * n_dim + c) * y.stride[0];
            for (int64_t i = 0; i < n_query; ++i) out[i] = value[i] * inverse[i];
        }
    }
}

template <class T>
void log_sums(const Queue& queue, SoftmaxState<T> state, Tile<T> log_sum) {
    if (!uses_simd<T>(queue, "log_sums")) return ref::log_sums(state, log_sum);
    if constexpr (std::is_same_v<T, float>) simd::log_sums(queue.level(), state, log_sum);
}

template <class T>
void attend_delta(const Queue& queue, const Heads& heads, Tile<const T> y, Tile<const T> dy,
                  Tile<T> delta) {
    if (!uses_simd<T>(queue, "attend_delta")) return ref::attend_delta(heads, y, dy, delta);
    if constexpr (std::is_same_v<T, float>) simd::attend_delta(queue.level(), heads, y, dy, delta);
}

template <class T>
void attend_backward_queries(const Queue& queue, const Heads& heads, const AttendGradient<T>& of,
                             Tile<const T> k, Tile<const T> v, const DistanceBias<T>& bias,
                             T* scratch, Tile<T> dq, double* dfactor) {
    if (!uses_simd<T>(queue, "attend_backward_queries"))
        return ref::attend_backward_queries(heads, of, k, v, bias, dq, dfactor);
    if constexpr (std::is_same_v<T, float>)
        simd::attend_backward_queries(queue.level(), heads, of, k, v, bias, scratch, dq, dfactor);
}

template <class T>
void attend_backward_keys(const Queue& queue, const Heads& heads, const AttendGradient<T>& of,
                          Tile<const T> k, Tile<const T> v, const DistanceBias<T>& bias, T* scratch,
                          Tile<T> dk, Tile<T> dv) {
    if (!uses_simd<T>(queue, "attend_backward_keys"))
        return ref::attend_backward_keys(heads, of, k, v, bias, dk, dv);
    if constexpr (std::is_same_v<T, float>)
        simd::attend_backward_keys(queue.level(), heads, of, k, v, bias, scratch, dk, dv);
}

#define SURROGATE_ATTENTION(T)                                                                     \
    template void reset(SoftmaxState<T>);                                                          \
    template void attend(const Queue&, const Heads&, Tile<const T>, Tile<const T>, Tile<const T>,  \
                         T, const DistanceBias<T>&, T*, SoftmaxState<T>);                          \
    template void finish(const Queue&, SoftmaxState<T>, Tile<T>);                                  \
    template void log_sums(const Queue&, SoftmaxState<T>, Tile<T>);                                \
    template void attend_delta(const Queue&, const Heads&, Tile<const T>, Tile<const T>, Tile<T>); \
    template void attend_backward_queries(const Queue&, const Heads&, const AttendGradient<T>&,    \
                                          Tile<const T>, Tile<const T>, const DistanceBias<T>&,    \
                                          T*, Tile<T>, double*);                                   \
    template void attend_backward_keys(const Queue&, const Heads&, const AttendGradient<T>&,       \
                                       Tile<const T>, Tile<const T>, const DistanceBias<T>&, T*,   \
                                       Tile<T>, Tile<T>);
SURROGATE_ATTENTION(float)
SURROGATE_ATTENTION(double)
#undef SURROGATE_ATTENTION

}  // namespace surrogate::kernels
