// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/dispatch.hpp"
#include "kernels/sequoia/backward.hpp"
#include "kernels/sequoia/sequoia.hpp"

namespace surrogate::kernels::sequoia {

template <class T>
void attend_tree(const Queue& queue, const Heads& heads, Tile<const T> q, Tile<const T> k,
                 Tile<const T> v, const Surroundings<T>& around, T* scratch, Tile<T> y) {
    if (!uses_simd<T>(queue, "attend_tree"))
        return ref::attend_tree(heads, q, k, v, around, scratch, y);
    if constexpr (std::is_same_v<T, float>)
        simd::attend_tree(queue.level(), heads, q, k, v, around, scratch, y);
}

template <class T>
void attend_children(const Queue& queue, const Heads& heads, int64_t k_branch, int64_t n_last,
                     Tile<const T> q, Tile<const T> k, Tile<const T> v, T* scratch, Tile<T> y) {
    if (!uses_simd<T>(queue, "attend_children"))
        return ref::attend_children(heads, k_branch, n_last, q, k, v, scratch, y);
    if constexpr (std::is_same_v<T, float>)
        simd::attend_children(queue.level(), heads, k_branch, n_last, q, k, v, scratch, y);
}

int64_t tree_scratch(const Heads& heads, int64_t k, int64_t n_ancestor) {
    const int64_t n_lane = round_up(k, lane_count), n_dim = heads.n_key_dim + heads.n_value_dim;
    return 4 * lane_count * (n_lane + round_up(n_ancestor, lane_count)) + n_dim * n_lane;
}

template void attend_tree(const Queue&, const Heads&, Tile<const float>, Tile<const float>,
                          Tile<const float>, const Surroundings<float>&, float*, Tile<float>);
template void attend_tree(const Queue&, const Heads&, Tile<const double>, Tile<const double>,
                          Tile<const double>, const Surroundings<double>&, double*, Tile<double>);
template void attend_children(const Queue&, const Heads&, int64_t, int64_t, Tile<const float>,
                              Tile<const float>, Tile<const float>, float*, Tile<float>);
template void attend_children(const Queue&, const Heads&, int64_t, int64_t, Tile<const double>,
                              Tile<const double>, Tile<const double>, double*, Tile<double>);

}  // namespace surrogate::kernels::sequoia
