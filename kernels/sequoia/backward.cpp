// SPDX-License-Identifier: Apache-2.0
#include "kernels/sequoia/backward.hpp"

#include "kernels/base/dispatch.hpp"

namespace surrogate::kernels::sequoia {

template <class T>
void take_thirds(const Queue&, Tile<T> dy, Tile<T> g) {
    for (int64_t c = 0; c < dy.shape[0]; ++c) {
        for (int64_t i = 0; i < dy.shape[1]; ++i) {
            g(c, i) = dy(c, i) / 3;
            dy(c, i) = 0;
        }
    }
}

template <class T>
void attend_tree_backward(const Queue& queue, const Heads& heads, Tile<const T> q, Tile<const T> k,
                          Tile<const T> v, const Surroundings<T>& around, Tile<const T> g,
                          std::span<const NodeGradient<T>> ancestors, T* scratch, Tile<T> dq,
                          Tile<T> dk, Tile<T> dv) {
    if (!uses_simd<T>(queue, "attend_tree_backward"))
        return ref::attend_tree_backward(heads, q, k, v, around, g, ancestors, scratch, dq, dk, dv);
    if constexpr (std::is_same_v<T, float>)
        simd::attend_tree_backward(queue.level(), heads, q, k, v, around, g, ancestors, scratch, dq,
                                   dk, dv);
}

template <class T>
void attend_children_backward(const Queue& queue, const Heads& heads, int64_t k_branch,
                              int64_t n_last, Tile<const T> q, Tile<const T> k, Tile<const T> v,
                              Tile<const T> g, T* scratch, Tile<T> dq, Tile<T> dk, Tile<T> dv) {
    if (!uses_simd<T>(queue, "attend_children_backward"))
        return ref::attend_children_backward(heads, k_branch, n_last, q, k, v, g, scratch, dq, dk,
                                             dv);
    if constexpr (std::is_same_v<T, float>)
        simd::attend_children_backward(queue.level(), heads, k_branch, n_last, q, k, v, g, scratch,
                                       dq, dk, dv);
}

template void take_thirds(const Queue&, Tile<float>, Tile<float>);
template void take_thirds(const Queue&, Tile<double>, Tile<double>);
template void attend_tree_backward(const Queue&, const Heads&, Tile<const float>, Tile<const float>,
                                   Tile<const float>, const Surroundings<float>&, Tile<const float>,
                                   std::span<const NodeGradient<float>>, float*, Tile<float>,
                                   Tile<float>, Tile<float>);
template void attend_tree_backward(const Queue&, const Heads&, Tile<const double>,
                                   Tile<const double>, Tile<const double>,
                                   const Surroundings<double>&, Tile<const double>,
                                   std::span<const NodeGradient<double>>, double*, Tile<double>,
                                   Tile<double>, Tile<double>);
template void attend_children_backward(const Queue&, const Heads&, int64_t, int64_t,
                                       Tile<const float>, Tile<const float>, Tile<const float>,
                                       Tile<const float>, float*, Tile<float>, Tile<float>,
                                       Tile<float>);
template void attend_children_backward(const Queue&, const Heads&, int64_t, int64_t,
                                       Tile<const double>, Tile<const double>, Tile<const double>,
                                       Tile<const double>, double*, Tile<double>, Tile<double>,
                                       Tile<double>);

}  // namespace surrogate::kernels::sequoia
