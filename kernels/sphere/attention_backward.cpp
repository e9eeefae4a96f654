// SPDX-License-Identifier: Apache-2.0
#include "kernels/sphere/attention_backward.hpp"

#include "kernels/base/dispatch.hpp"
#include "kernels/norm/norm.hpp"

namespace surrogate::kernels::sphere {

template <class T>
void attend_neighbors_backward_queries(const Queue& queue, const Heads& heads,
                                       std::span<const QueryGradientRow<T>> rows,
                                       int64_t first_column, Rings<const T> k, Rings<const T> v,
                                       const T* weight, T* scratch) {
    if (!uses_simd<T>(queue, "attend_neighbors_backward_queries"))
        return ref::attend_neighbors_backward_queries(heads, rows, first_column, k, v, weight);
    if constexpr (std::is_same_v<T, float>)
        simd::attend_neighbors_backward_queries(queue.level(), heads, rows, first_column, k, v,
                                                weight, scratch);
}

template <class T>
void attend_neighbors_backward_keys(const Queue& queue, const Heads& heads,
                                    std::span<const KeyGradientRow<T>> rows, int64_t first_column,
                                    const QueryRings<T>& of, T* scratch) {
    if (!uses_simd<T>(queue, "attend_neighbors_backward_keys"))
        return ref::attend_neighbors_backward_keys(heads, rows, first_column, of);
    if constexpr (std::is_same_v<T, float>)
        simd::attend_neighbors_backward_keys(queue.level(), heads, rows, first_column, of, scratch);
}

/// Returns the norm of one head: the rms norm with weights 1 + g.
template <class T>
void normalise_heads_backward(const Queue& queue, int64_t n_head, const T* g, Tile<const T> x,
                              Tile<const T> dy, Tile<T> dx, double* dg, T* scratch) {
    const int64_t n_dim = x.shape[0] / n_head;
    for (int64_t c = 0; c < n_dim; ++c) scratch[c] = 1 + g[c];
    const Norm<T> norm{NormKind::rms, head_norm_eps<T>, scratch, nullptr};
    for (int64_t first = 0; first < x.shape[0]; first += n_dim)
        normalise_backward<T>(queue, norm, channels(x, first, n_dim), channels(dy, first, n_dim),
                              {}, channels(dx, first, n_dim), {dg, nullptr});
}

#define SURROGATE_SPHERE_BACKWARD(T)                                                               \
    template void attend_neighbors_backward_queries(const Queue&, const Heads&,                    \
                                                    std::span<const QueryGradientRow<T>>, int64_t, \
                                                    Rings<const T>, Rings<const T>, const T*, T*); \
    template void attend_neighbors_backward_keys(const Queue&, const Heads&,                       \
                                                 std::span<const KeyGradientRow<T>>, int64_t,      \
                                                 const QueryRings<T>&, T*);                        \
    template void normalise_heads_backward(const Queue&, int64_t, const T*, Tile<const T>,         \
                                           Tile<const T>, Tile<T>, double*, T*);
SURROGATE_SPHERE_BACKWARD(float)
SURROGATE_SPHERE_BACKWARD(double)
#undef SURROGATE_SPHERE_BACKWARD

}  // namespace surrogate::kernels::sphere
